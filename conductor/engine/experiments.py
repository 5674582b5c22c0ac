"""Experiments on a workflow that has run: variants of it, each run on the same frozen outputs. Pure.

Knows workflows and scopes; the store runs and stores the trials, the pages show them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Literal, Self

from pydantic import Field, model_validator

from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, FORCE, RunScope
from conductor.runs.state import RunState
from conductor.text.word_diff import compare_texts
from conductor.values.accepted import Accepted
from conductor.values.messages import Value
from conductor.values.output import HandEdit, Output
from conductor.workflow.model import Workflow

MAX_REPEATS = 9
MAX_TRIALS = 200
"""The most runs of one experiment; each may call many workers."""

Edge = tuple[int, int]
"""An access by its two steps, 0-based: who is read, who reads."""


class Swap(Value):
    """One step done by several workers, on what it saw in the run that is compared with."""

    kind: Literal["swap"] = "swap"
    step: int
    workers: tuple[str, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)


class EdgeTest(Value):
    """Each of `edges` left out, once for each repeat; the steps that depend on it run again.

    With more than one repeat there is a control too: it leaves nothing out and calls the readers of the
    tested edges again, which shows how much the answer varies without a change.
    """

    kind: Literal["edges"] = "edges"
    edges: tuple[Edge, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)


class Replacement(Value):
    """Another output for `step`: what `worker` answers to the same request, or `text` that a person wrote."""

    step: int
    worker: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.worker is None) == (self.text is None):
            raise ValueError("an output is replaced by a worker's or by a text, by one of them")
        return self


class StepSearch(Value):
    """Which step spoiled the answer: each replacement made once for each repeat; the steps that depend on it
    run again, and the answer is compared with what is `accepted`.

    With more than one repeat there is a control too, as in an edge test: it replaces nothing and calls the
    same steps again. `hand`: who wrote the texts, and when.
    """

    kind: Literal["steps"] = "steps"
    accepted: Accepted
    replacements: tuple[Replacement, ...] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    hand: HandEdit


Experiment = Swap | EdgeTest | StepSearch


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of an experiment: its workflow and how much of it is run.

    `worker` does the step in a swap; `edge` is left out in an edge test, `replacement` made in a search for
    the step, each None in the control. `repeat` counts from 1.
    """

    workflow: Workflow
    scope: RunScope
    worker: str | None = None
    edge: Edge | None = None
    replacement: Replacement | None = None
    repeat: int = 1


def trials_of(experiment: Experiment, workflow: Workflow) -> tuple[Trial, ...]:
    """The runs that `experiment` on `workflow` takes, in order, repeats of one variant side by side.

    Raises `WorkflowError` where it names a step or an edge that `workflow` does not have, tests an edge into
    a pinned step, replaces what the answer cannot show, or takes more than `MAX_TRIALS` runs.
    """
    match experiment:
        case Swap():
            trials = _swaps(experiment, workflow)
        case EdgeTest():
            trials = _edges(experiment, workflow)
        case StepSearch():
            trials = _replaced(experiment, workflow)
    if len(trials) > MAX_TRIALS:
        raise WorkflowError(
            f"This takes {len(trials)} runs; an experiment has at most {MAX_TRIALS}. Choose fewer edges, "
            "steps or workers, or fewer repeats."
        )
    return tuple(trials)


def _swaps(swap: Swap, workflow: Workflow) -> list[Trial]:
    if not 0 <= swap.step < len(workflow):
        raise WorkflowError(f"There is no step {swap.step + 1}; this workflow has {len(workflow)}.")
    scope = RunScope(kind="only", step=swap.step)
    workers = dict.fromkeys(swap.workers)
    variants = [Trial(_variant_by(workflow, swap.step, worker), scope, worker=worker) for worker in workers]
    return _repeated(variants, swap.repeats)


def _edges(test: EdgeTest, workflow: Workflow) -> list[Trial]:
    for read, reader in test.edges:
        if not 0 <= reader < len(workflow) or read not in workflow.steps[reader].access:
            raise WorkflowError(f"Step {reader + 1} does not read step {read + 1}; choose one of the edges.")
        if reader in workflow.pins:
            raise WorkflowError(
                f"Step {reader + 1} is pinned, so nothing depends on what it reads; unpin it first.",
                step=reader,
            )
    variants = []
    for read, reader in dict.fromkeys(test.edges):
        access = set(workflow.steps[reader].access) - {read}
        scope = _scope_from(reader, test.repeats)
        variants.append(Trial(workflow.with_access(reader, access), scope, edge=(read, reader)))
    first = min(reader for _, reader in test.edges)
    return _repeated(variants, test.repeats, Trial(workflow, RunScope(kind="from", step=first)))


def _replaced(search: StepSearch, workflow: Workflow) -> list[Trial]:
    variants = [
        Trial(
            _variant(each, workflow, search.hand),
            _scope_from(each.step, search.repeats),
            replacement=each,
        )
        for each in dict.fromkeys(search.replacements)
    ]
    steps = {each.step for each in search.replacements}
    first = min(steps)
    below = steps <= workflow.descendants(first) | {first}
    scope = RunScope(kind="from", step=first) if below else FORCE
    return _repeated(variants, search.repeats, Trial(workflow, scope))


def _scope_from(step: int, repeats: int) -> RunScope:
    """A single repeat may reuse known outputs; to measure variation, every repeat calls what follows."""
    return EDITED if repeats == 1 else RunScope(kind="from", step=step)


def _repeated(variants: Iterable[Trial], repeats: int, control: Trial | None = None) -> list[Trial]:
    """Each variant so many times, side by side; of more than one repeat the control comes last."""
    controls = [control] if control is not None and repeats > 1 else []
    return [
        replace(each, repeat=repeat) for each in (*variants, *controls) for repeat in range(1, repeats + 1)
    ]


def _variant(replacement: Replacement, workflow: Workflow, hand: HandEdit) -> Workflow:
    """The workflow with another worker for the step, or a pinned text. Raises `WorkflowError`, see
    `trials_of`.
    """
    step, worker, text = replacement.step, replacement.worker, replacement.text
    if not 0 <= step < len(workflow):
        raise WorkflowError(f"There is no step {step + 1}; this workflow has {len(workflow)}.")
    if step not in steps_to_replace(workflow):
        raise WorkflowError(
            f"The answer does not depend on step {step + 1}; choose one that it does.", step=step
        )
    own = workflow.steps[step]
    if worker is not None:
        if worker == own.worker and own.pin is None:
            raise WorkflowError(f"Step {step + 1} is {worker}'s already; choose another worker.", step=step)
        return _variant_by(workflow, step, worker)
    if step == workflow.final:
        raise WorkflowError(
            f"Step {step + 1} gives the answer itself, so another text in its place shows nothing. "
            "Write an earlier step's output, or give this step to another worker.",
            step=step,
        )
    if not (text or "").strip():
        raise WorkflowError(f"The text for step {step + 1} is empty; write its output.", step=step)
    written = Output(
        fingerprint="",
        text=text or "",
        worker=own.worker,
        worker_kind="model",
        seconds=0.0,
        hand=hand,
        run="",
        step=step,
    )
    return workflow.with_pin(step, written)


def _variant_by(workflow: Workflow, step: int, worker: str) -> Workflow:
    """The workflow with `step` given to another worker: its own answer is tried, nothing stands in for it."""
    variant, rule = workflow.with_pin(step, None).with_worker(step, worker), workflow.steps[step].on_failure
    alone = None if rule is None else rule.model_copy(update={"fallback": None, "output": None})
    return variant.with_on_failure(step, alone)


def steps_to_replace(workflow: Workflow) -> tuple[int, ...]:
    """The steps that the answer depends on."""
    return tuple(sorted(workflow.ancestors(workflow.final) | {workflow.final}))


def edges_to_test(workflow: Workflow) -> tuple[Edge, ...]:
    """The edges that can be left out to some effect, in the order of who reads."""
    return tuple(
        (read, reader)
        for reader, step in enumerate(workflow.steps)
        if reader not in workflow.pins
        for read in step.access
    )


@dataclass(frozen=True, slots=True)
class EdgeVerdict:
    """What leaving out `edge` (None: nothing, the control) did to the answer.

    `changes` has, for each trial with an answer, the share of the text (0 to 1) that differs from the
    compared run's. `lost` counts the trials that ended without an answer, `pending` those that have not
    ended, `broken` those that were stopped or interrupted and so prove nothing about the edge.
    `beyond_noise`: the answer changed more than without a change, see `_beyond_noise`; None if that is
    unknown, and for the control.
    """

    edge: Edge | None
    changes: tuple[float, ...]
    lost: int
    pending: int
    broken: int = 0
    beyond_noise: bool | None = None

    @property
    def change(self) -> float | None:
        """The mean change; None before there is an answer."""
        return mean(self.changes) if self.changes else None

    @property
    def matters(self) -> bool:
        """Whether some answer was another one, or none was given."""
        return self.lost > 0 or any(self.changes)


def edge_verdicts(
    answer: str, trials: Sequence[Trial], states: Mapping[int, RunState]
) -> tuple[EdgeVerdict, ...]:
    """A verdict for each edge, the one that changed most first, and the control's last.

    `states` are the runs so far by the trial's place.
    """
    edges = dict.fromkeys(trial.edge for trial in trials)
    verdicts = [
        _verdict(edge, answer, [states.get(at) for at, trial in enumerate(trials) if trial.edge == edge])
        for edge in edges
    ]
    control = next((verdict for verdict in verdicts if verdict.edge is None), None)
    judged = [replace(each, beyond_noise=_beyond_noise(each, control)) for each in verdicts]
    return tuple(sorted(judged, key=_rank))


def _beyond_noise(verdict: EdgeVerdict, control: EdgeVerdict | None) -> bool | None:
    """Whether each answer without the edge differs more from the compared run's than all of the control's do.

    The strictest rule that so few runs allow: without any effect of the edge, all of n repeats exceed all of
    n control repeats by chance in 1 of C(2n, n) tests, that is 1 of 6 for two repeats and 1 of 20 for three.
    A lost answer counts as a change where the control lost none. None without a control, and before both have
    all their answers.
    """
    if verdict.edge is None or control is None or not control.changes or control.lost:
        return None
    if verdict.pending or control.pending or verdict.broken or control.broken:
        return None
    return all(change > max(control.changes) for change in verdict.changes)


def _verdict(edge: Edge | None, answer: str, states: Collection[RunState | None]) -> EdgeVerdict:
    over = [state for state in states if state is not None and not state.live]
    ended = [state for state in over if state.status in ("finished", "failed")]
    answers = [state.answer for state in ended if state.answer is not None]
    return EdgeVerdict(
        edge=edge,
        changes=tuple(1 - compare_texts(answer, other).share for other in answers),
        lost=len(ended) - len(answers),
        pending=len(states) - len(over),
        broken=len(over) - len(ended),
    )


def _rank(verdict: EdgeVerdict) -> tuple[bool, int, float, Edge]:
    """Controls last; first of all the edges without which there was no answer."""
    change = -1.0 if verdict.change is None else verdict.change
    return (verdict.edge is None, -verdict.lost, -change, verdict.edge or (0, 0))
