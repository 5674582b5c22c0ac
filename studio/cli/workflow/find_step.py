"""`find-step ID`: which step spoiled an answer, found by replacing the outputs of steps.

Knows how the search is asked for and printed; `studio.workbench.comparison.experiments` makes it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import ValidationError
from typer import BadParameter

from conductor.engine.experiments import (
    MAX_REPEATS,
    Replacement,
    StepSearch,
    Trial,
    steps_to_replace,
    trials_of,
)
from conductor.engine.step_verdicts import StepVerdict, found_words, step_verdicts
from conductor.errors import DataError, WorkflowError
from conductor.evaluation.scorers.accepted_answer import accepted_of
from conductor.text.formatting import quantity
from conductor.values.accepted import Accepted, Check
from conductor.values.output import HandEdit
from conductor.values.total import NOTHING, Total
from conductor.waiting import result_of
from conductor.workflow.model import Workflow
from storage import SessionStore
from studio.cli.opening import SessionId, confirm_keys, opened, session_of
from studio.cli.options import App, Configured, DryRun, count, option
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import name_next, print_lines, print_remark
from studio.evaluation.asked_item import asked_item
from studio.workbench import Workbench
from studio.workbench.comparison.experiments import Base

app = App()


def written(text: str) -> str:
    """`STEP=TEXT`, as it is given."""
    step, equals, output = text.partition("=")
    if not (equals and step.strip().isdecimal() and output.strip()):
        raise BadParameter(f"{text[:60]!r} is no output for a step; write STEP=TEXT, such as 2='Paris'")
    return text


@app.command("find-step")
def find_step(
    session: SessionId,
    *,
    answer: Annotated[
        list[str] | None, option("An accepted answer; several times for several.", "TEXT", str)
    ] = None,
    check: Annotated[Check | None, option("How answers are compared with it.")] = None,
    worker: Annotated[str | None, option("Have this worker do each step instead.", "NAME", str)] = None,
    step: Annotated[list[int] | None, count("Only this step; several times for several.", "STEP")] = None,
    write: Annotated[
        list[str] | None, option("Put this text in place of a step's output.", "STEP=TEXT", written)
    ] = None,
    repeats: Annotated[int, count("Runs for each step, with a control.", most=MAX_REPEATS)] = 1,
    dry_run: DryRun = False,
    options: Configured,
) -> int:
    """Find the step that spoiled a session's answer.

    Replaces one step's output at a time, by another worker's (--worker) or by a text (--write), runs what
    follows again, and ranks the steps by whether the answer turns right. In a session of an evaluation its
    question has the accepted answer.
    """
    if not dry_run:
        confirm_keys(options.pool, ask=True)
    with opened(options) as bench:
        session_id = session_of(bench.store, session)
        base = bench.experiments.base(session_id)
        if base is None:
            raise WorkflowError(
                "This session has no finished run of its workflow as it is now; run it first: "
                f"run --session {session_id[:8]}"
            )
        search = StepSearch(
            accepted=_accepted(bench.store, session_id, answer or [], check),
            replacements=_replacements(base.workflow, worker, step or [], write or []),
            repeats=repeats,
            hand=HandEdit(at=time.time(), by=bench.asker.person or "a person"),
        )
        trials = trials_of(search, base.workflow)
        expected = bench.experiments.estimate(search, base)
        line = ", ".join([quantity(len(trials), "run"), quantity(expected.calls, "call"), *expected.words])
        if dry_run:
            amounts = {name: getattr(expected, name) for name in ("calls", "tokens", "cost", "seconds")}
            return options.show({"runs": len(trials), **amounts}, f"At most {line}.")
        print_remark(f"at most {line}.")
        short = session_id[:8]
        name_next(f"session {short}", f"sessions show {short}{options.again} --step N")
        verdicts, ended, used, id = _searched(bench, session_id, search, base, trials)
        if options.json:
            shapes = [_shape(verdict) for verdict in verdicts]
            return options.show({"session": session_id, "experiment": id, "found": ended, "steps": shapes})
        for verdict in verdicts:
            print_lines(_line(base.workflow, verdict))
        print_remark(ended)
        print_remark(" · ".join([f"{len(trials)} runs", *used.known_words]))
        if bench.pool.label:
            print_remark(bench.pool.label)
    return 0


def _accepted(store: SessionStore, session: str, answers: Sequence[str], check: Check | None) -> Accepted:
    """What was given, else what is right for the question of an evaluation. Raises `DataError`."""
    item = asked_item(store, session)
    own = None if item is None else accepted_of(item)
    if not answers:
        if item is not None and own is None:
            raise DataError(
                f"This question is scored by {item.scored_by!r}, which takes more than a comparison; give "
                "--answer and --check."
            )
        if own is None:
            raise DataError("Give the accepted answer: --answer TEXT.")
        return own if check is None else own.model_copy(update={"check": check})
    choices = None if own is None else own.choices
    try:
        return Accepted(target=tuple(answers), check=check or "contains", choices=choices)
    except ValidationError as error:
        raise DataError("The accepted answer is empty; give its text with --answer.") from error


def _replacements(
    workflow: Workflow, worker: str | None, steps: Sequence[int], written: Sequence[str]
) -> tuple[Replacement, ...]:
    """What people named, their steps counted from 1; a worker without steps does each that it may."""
    if worker is None and (steps or not written):
        raise WorkflowError("Name who does the steps instead, with --worker, or give outputs with --write.")
    texts = [text.partition("=") for text in written]
    replacements = [Replacement(step=int(at) - 1, text=text) for at, _, text in texts]
    if worker is not None:
        others = [at for at in steps_to_replace(workflow) if workflow.steps[at].worker != worker]
        chosen = [at - 1 for at in steps] or others
        if not chosen:
            raise WorkflowError(f"{worker!r} does every step already; name another worker.")
        replacements += [Replacement(step=at, worker=worker) for at in chosen]
    return tuple(replacements)


def _searched(
    bench: Workbench, session: str, search: StepSearch, base: Base, trials: Sequence[Trial]
) -> tuple[Sequence[StepVerdict], str, Total, str]:
    """Make the search and wait for its end: the verdicts, what they show, what was used, the search's id."""
    live = bench.experiments.begin(session, search)
    assert live.work is not None, "it was begun"
    result_of(live.work)
    states = bench.experiments.states(live.record.id)
    right: Mapping[int, bool] = bench.experiments.right(live.record, states)
    verdicts = step_verdicts(base.state, trials, states, right)
    ended = found_words(verdicts)
    if len(states) < len(trials):
        ended = f"It ended after {len(states)} of {len(trials)} runs, at the budget or by a stop. {ended}"
    return verdicts, ended, sum((state.used for state in states.values()), NOTHING), live.record.id


def _line(workflow: Workflow, verdict: StepVerdict) -> str:
    replaced = verdict.replacement
    if replaced is None:
        return f"control, nothing replaced: {verdict.words}"
    own = workflow.steps[replaced.step].worker
    how = "a text by hand" if replaced.worker is None else replaced.worker
    return f"step {replaced.step + 1}, {how} instead of {own}: {verdict.words}"


def _shape(verdict: StepVerdict) -> Shape:
    replaced = verdict.replacement
    counts = {name: getattr(verdict, name) for name in ("right", "wrong", "lost", "broken", "same")}
    return {
        "step": None if replaced is None else replaced.step + 1,
        "worker": None if replaced is None else replaced.worker,
        "text": None if replaced is None else replaced.text,
        **counts,
        "beyond_chance": verdict.beyond_chance,
    }
