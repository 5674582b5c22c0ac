"""The evidence of one answer, for a model that is to learn from it: the plan, what its steps wrote, the
verdict, and which step spoiled a wrong one.

Knows the store's sessions and *Find the step*, which calls workers; the texts are bounded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from conductor.engine.experiments import Replacement, StepSearch, steps_to_replace, trials_of
from conductor.engine.meter import Meter
from conductor.engine.step_verdicts import found_words, step_verdicts
from conductor.errors import ConductorError
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.items import Item
from conductor.evaluation.scorers.accepted_answer import accepted_of
from conductor.planner.prompt.sentences import one_line
from conductor.values.output import HandEdit
from conductor.waiting import result_of
from conductor.workflow.model import Workflow
from studio.workbench import Workbench
from studio.workbench.comparison.experiments import Base

_QUESTION, _OUTPUT = 1_200, 700
"""Characters that are shown of a question or an instruction, and of a step's output."""


def evidence(bench: Workbench, item: Item, cell: Cell, blame: str = "") -> str:
    """What came of the answer, in lines; `blame` as of `blame_of`."""
    return "\n".join(_lines(bench, item, cell, blame))


def _lines(bench: Workbench, item: Item, cell: Cell, blame: str) -> Iterator[str]:
    score = cell.result.score
    yield f"Question: {_short(item.question, _QUESTION)}"
    yield f"Right answer: {_short(', '.join(item.target), _QUESTION)}"
    plan = bench.store.plans.latest(cell.session)
    report = None if plan is None else plan.report
    workflow = None if report is None else report.workflow
    if workflow is None:
        problems = [] if report is None else [problem.message for problem in report.problems]
        yield f"No valid plan: {_short('; '.join(problems), _OUTPUT)}"
    else:
        runs = bench.store.runs.of_session(cell.session)
        outputs = bench.state(runs[0]).outputs if runs else {}
        for at, step in enumerate(workflow.steps):
            saw = ", ".join(f"step {seen + 1}" for seen in step.access) or "no earlier step"
            yield f"Step {at + 1}: {step.worker}, saw {saw}."
            yield f"  Its instruction: {_short(step.instruction, _QUESTION)}"
            yield f"  It wrote: {_short(outputs[at].text, _OUTPUT) if at in outputs else '(nothing)'}"
    yield f"The answer {_short(score.answer, _OUTPUT)!r} is {'right' if score.right else 'wrong'}."
    if blame:
        yield f"Which step spoiled it: {blame}"


def blame_of(bench: Workbench, item: Item, session: str, instead: Sequence[str], meter: Meter) -> str:
    """Which step spoiled the answer of a session, found by having another worker do each: the first of
    `instead` whose step it is not. "" where that cannot be found, or the meter's budget has no room.
    """
    base, accepted = bench.experiments.base(session), accepted_of(item)
    if base is None or accepted is None:
        return ""
    replacements = _replacements(base.workflow, instead)
    if not replacements:
        return ""
    hand = HandEdit(at=time.time(), by="learn")
    search = StepSearch(accepted=accepted, replacements=replacements, hand=hand)
    try:
        earlier = [
            each for each in bench.store.experiments.of_session(session) if each.base == base.state.run
        ]
        if not earlier:
            live = bench.experiments.begin(session, search, meter=meter)
            assert live.work is not None, "it was begun"
            result_of(live.work)
            earlier = [live.record]
        return _words(bench, base, earlier[0].id)
    except ConductorError:
        return ""


def _replacements(workflow: Workflow, instead: Sequence[str]) -> tuple[Replacement, ...]:
    others = {
        at: next((name for name in instead if name != workflow.steps[at].worker), None)
        for at in steps_to_replace(workflow)
    }
    return tuple(Replacement(step=at, worker=name) for at, name in others.items() if name is not None)


def _words(bench: Workbench, base: Base, experiment: str) -> str:
    record = bench.store.experiments.find(experiment)
    trials, states = trials_of(record.experiment, base.workflow), bench.experiments.states(experiment)
    verdicts = step_verdicts(base.state, trials, states, bench.experiments.right(record, states))
    tried = (
        f"{each.replacement.worker} in step {each.replacement.step + 1}: {each.words}."
        for each in verdicts
        if each.replacement is not None
    )
    return " ".join((*tried, found_words(verdicts)))


def _short(text: str, most: int) -> str:
    """The text in a line, of a long one its beginning and its end, where answers stand."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"
