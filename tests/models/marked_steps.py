"""Workflows as tuples of marked steps, and every edit of them, in plain Python: the model and its cases.

A mark is what a step is, whatever is edited. The product holds it as the seed of a step's sampling, where no
edit here changes it and no comparison of the product looks at it. Knows nothing of how the product edits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.values.messages import Sampling
from conductor.values.output import Output
from conductor.workflow import edits as product
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.workflow_cases import PINNED, WORKERS

MOST_STEPS = 7


def short_and_long(short: int, long: int) -> pytest.MarkDecorator:
    """The test with a `number` of cases, and once more with many in the thorough suite."""
    few = pytest.param(short, id="short", marks=pytest.mark.slow)
    many = pytest.param(long, id="long", marks=pytest.mark.thorough)
    return pytest.mark.parametrize("number", [few, many])


@dataclass(frozen=True)
class Marked:
    """A step; `reads` has the marks of those that it reads, all else is as in the product's."""

    mark: int
    instruction: str
    worker: str
    reads: frozenset[int] = frozenset()
    sees_previous: bool = False
    sees_files: bool = True
    tools: tuple[str, ...] | None = None
    sampling: Sampling = Sampling()
    prompt_style: str | None = None
    pin: Output | None = None
    gate: bool = False
    on_failure: OnFailure | None = None


Plan = tuple[Marked, ...]

FIELDS = ("worker", "instruction", "sees_previous", "sees_files", "tools", "sampling", "prompt_style", "pin",
          "gate", "on_failure")  # fmt: skip
"""All but the mark and the reads."""


def marks(plan: Plan) -> list[int]:
    """The marks in order."""
    return [step.mark for step in plan]


def text_of(topic: int, version: int) -> str:
    """An instruction: versions of one topic have most words in common, two topics only "the"."""
    return f"the {' '.join(f'{letter}{topic}' for letter in 'abcde')} version{version}"


def step_of(step: Marked, names: Sequence[int]) -> Step:
    """The product's step in a plan of these marks."""
    values = {name: getattr(step, name) for name in FIELDS}
    values["sampling"] = step.sampling.model_copy(update={"seed": step.mark})
    return Step(**values, access=tuple(sorted(map(names.index, step.reads))))


def workflow_of(plan: Plan) -> Workflow:
    """The product's workflow."""
    return Workflow.of(step_of(step, marks(plan)) for step in plan)


def plan_of(workflow: Workflow) -> Plan:
    """The model's plan. Raises `AssertionError` where two steps have one mark."""
    names = [step.sampling.seed for step in workflow.steps]
    assert len({*names}) == len(names), "a step is there twice"
    plan = []
    for mark, step in zip(names, workflow.steps, strict=True):
        values = {name: getattr(step, name) for name in FIELDS}
        values["sampling"] = step.sampling.model_copy(update={"seed": None})
        plan.append(Marked(mark=mark, reads=frozenset(names[read] for read in step.access), **values))
    return tuple(plan)


def numbers_of(workflow: Workflow) -> dict[int | None, int]:
    """The product's own number of each mark."""
    return {step.sampling.seed: number for step, number in zip(workflow.steps, workflow.lineage, strict=True)}


# -- edits -----------------------------------------------------------------------------------------------

SETTERS: Mapping[str, Callable[..., Workflow]] = {
    "worker": Workflow.with_worker,
    "instruction": Workflow.with_instruction,
    "access": Workflow.with_access,
    "sees_previous": Workflow.with_sight_of_previous,
    "sees_files": Workflow.with_sight_of_files,
    "tools": Workflow.with_tools,
    "sampling": Workflow.with_sampling,
    "pin": Workflow.with_pin,
    "gate": Workflow.with_gate,
    "on_failure": Workflow.with_on_failure,
}
"""The edit that sets each of a step's fields."""

MOVES = ("add", "duplicate", "remove", "move", "instead")
KINDS = (*SETTERS, *MOVES, "remove several", "workers", "replaced", "less access", "idle", "batch")

Edit = Callable[[Workflow], Workflow]


@dataclass(frozen=True)
class Change:
    """An edit of any plan. Places count round, but for a negative one, which is beyond the plan; `mask` has a
    bit for each step that is meant, or chooses a value; `fresh` is a mark that no step has yet.
    """

    kind: str
    first: int
    second: int
    mask: int
    fresh: int

    def places(self, steps: int) -> tuple[int, int]:
        """The two places that are meant in a plan of so many steps."""
        beyond = {-1: -1, -2: steps + 1}
        at, to = (beyond.get(place, place % steps) for place in (self.first, self.second))
        return at, to

    def of(self, plan: Plan) -> tuple[Edit, Plan | None]:
        """The product's edit, and the model's plan after it, or None if it is to be refused."""
        names = marks(plan)
        at, to = self.places(len(plan))
        own, is_step, are_steps = plan[at % len(plan)], 0 <= at < len(plan), 0 <= at < len(plan) > to >= 0
        worker, other = WORKERS[self.mask % 3], WORKERS[self.second % 3]
        several = [mark for place, mark in enumerate(names) if self.mask >> place & 1]
        match self.kind:
            case "add" | "duplicate":
                new, at = (
                    (self._new(names[:at]), at)
                    if self.kind == "add"
                    else (replace(own, mark=self.fresh), at + 1)
                )
                legal = 0 <= at <= len(plan) and new.reads <= {*names[:at]}
                longer = (*plan[:at], new, *plan[at:])
                return lambda w: w.add_step(step_of(new, names), at), longer if legal else None
            case "remove":
                return lambda w: w.remove_step(at), _without(plan, {own.mark}) if is_step else None
            case "instead":
                new = replace(self._new(names[: names.index(own.mark)]), worker=own.worker)
                rest = _without(plan, {own.mark}) if is_step and len(plan) > 1 else None
                put = step_of(new, [mark for mark in names if mark != own.mark])
                after = (*rest[:at], new, *rest[at:]) if rest else None
                return lambda w: w.remove_step(at).add_step(put, at), after
            case "remove several":
                return lambda w: w.remove_steps([*map(names.index, several)]), _without(plan, several)
            case "move":
                rest = [step for step in plan if step is not own]
                order = (*rest[:to], own, *rest[to:])
                return lambda w: w.move_step(at, to), order if are_steps and _in_order(order) else None
            case "workers":
                both = {worker: other, other: WORKERS[0]}
                return lambda w: w.with_workers(both), tuple(_by_workers(step, both) for step in plan)
            case "replaced":
                edit = product.WorkerReplaced(worker=worker, by=other)
                return edit.of, tuple(_by_workers(step, {worker: other}) for step in plan)
            case "less access":
                which = ("all", "final", "repeated")[self.mask % 3]
                less = tuple(replace(step, reads=_left(plan, step, which)) for step in plan)
                return product.WithoutAccess(which=which).of, less
            case "idle":
                idle = {*names[:-1]} - _above(plan, names[-1])
                return product.WithoutIdleSteps().of, _without(plan, idle)
            case "batch":
                edits = [product.WithoutStep(step=at), product.OtherWorker(step=to, worker=worker)]
                reads = map(names.index, plan[-1].reads)
                edits += [product.WithoutEdge(read=read, reader=len(plan) - 1) for read in reads]
                blind = _set(plan, -1, reads=frozenset())
                after = _without(_set(blind, to, worker=worker), {own.mark}) if are_steps else None
                return lambda w: product.edited(w, edits), after
            case field:
                # Now and then a step is to read itself.
                earlier = names[: names.index(own.mark) + (self.mask > 250)]
                name = "reads" if field == "access" else field
                value = self._reads(earlier) if field == "access" else self._value(own)
                written = getattr(step_of(replace(own, **{name: value}), names), field)
                legal = is_step and (field != "access" or own.mark not in value)
                return lambda w: SETTERS[field](w, at, written), _set(
                    plan, at, **{name: value}
                ) if legal else None

    def _value(self, step: Marked) -> object:
        """What a field of the step is set to."""
        match self.kind:
            case "worker":
                return WORKERS[self.mask % 3]
            case "instruction":
                return text_of(int(step.instruction.split()[1][1:]), self.fresh)
            case "sampling":
                return Sampling(temperature=(None, 0.0, 0.5, 1.0)[self.mask % 4])
            case "tools":
                return (None, (), ("web",), ("files:read_*", "web"))[self.mask % 4]
            case "pin":
                return PINNED.model_copy(update={"text": f"pin {self.fresh}"}) if self.mask % 4 else None
            case "on_failure":
                fallback, output = (None, *WORKERS)[self.second % 4], (None, "", "text")[self.first % 3]
                return OnFailure(
                    retries=self.mask % 3, fallback=fallback, output=output, keep=self.mask > 127
                )
            case field:
                return getattr(step, field) != (self.mask % 4 > 0)

    def _reads(self, earlier: Sequence[int]) -> frozenset[int]:
        return frozenset(mark for at, mark in enumerate(earlier) if self.mask >> at & 1)

    def _new(self, earlier: Sequence[int]) -> Marked:
        text, rule = text_of(self.fresh, self.fresh), OnFailure(retries=1) if self.mask & 4 else None
        new = Marked(self.fresh, text, WORKERS[self.mask % 3], self._reads(earlier))
        return replace(new, gate=bool(self.mask & 2), on_failure=rule)


def _set(plan: Plan, at: int, **values: object) -> Plan | None:
    """The plan with fields of one step set: its worker is its fallback no longer, and cannot become it."""
    steps = list(plan)
    steps[at] = replace(steps[at], **values)
    if "on_failure" in values and steps[at].on_failure.fallback == steps[at].worker:
        return None
    steps[at] = _by_workers(steps[at], {})
    return tuple(steps)


def _by_workers(step: Marked, instead: Mapping[str, str]) -> Marked:
    """The step with other workers, none its own fallback, and without a rule of nothing."""
    worker, rule = instead.get(step.worker, step.worker), step.on_failure
    if rule is not None:
        fallback = instead.get(rule.fallback, rule.fallback)
        rule = rule.model_copy(update={"fallback": None if fallback == worker else fallback})
        rule = None if rule == OnFailure(pause=rule.pause) else rule
    return replace(step, worker=worker, on_failure=rule)


def _without(plan: Plan, gone: Collection[int]) -> Plan | None:
    left = [replace(step, reads=step.reads - {*gone}) for step in plan if step.mark not in gone]
    return tuple(left) or None


def _in_order(plan: Plan) -> bool:
    """Whether each step is behind all that it reads."""
    return all(step.reads <= {*marks(plan[:at])} for at, step in enumerate(plan))


def _above(plan: Plan, mark: int) -> set[int]:
    """The marks whose work reaches a step."""
    reads = next(step.reads for step in plan if step.mark == mark)
    return set(reads).union(*(_above(plan, read) for read in reads))


def _left(plan: Plan, step: Marked, which: str) -> frozenset[int]:
    """What a step reads without all its reads, the final step's, or those that repeat a longer way."""
    if which == "repeated":
        return step.reads - set().union(*(_above(plan, read) for read in step.reads))
    return frozenset() if which == "all" or step is plan[-1] else step.reads


# -- cases -----------------------------------------------------------------------------------------------


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans with every field set in some steps; the marks are the places."""
    steps = []
    for at, mask in enumerate(draw(st.lists(st.integers(0, 255), min_size=1, max_size=MOST_STEPS))):
        step = Marked(at, text_of(at, 0), WORKERS[mask % 3], frozenset(i for i in range(at) if mask >> i & 1))
        if mask & 8:
            sampling = Sampling(temperature=0.7)
            step = replace(step, gate=True, prompt_style="moa", sees_previous=True, sampling=sampling)
        if mask & 16:
            rule = OnFailure(
                retries=mask % 2, pause=2.0, fallback=WORKERS[(mask + 1) % 3], output="", keep=True
            )
            step = replace(step, pin=PINNED, sees_files=False, on_failure=rule)
        steps.append(step)
    return tuple(steps)


def choices(kinds: Sequence[str] = KINDS) -> st.SearchStrategy[tuple[str, int, int, int]]:
    """All of an edit but the mark that it brings."""
    return st.tuples(st.sampled_from(kinds), st.integers(-2, 20), st.integers(-2, 20), st.integers(0, 255))


def changes(fresh: int, sizes: range, kinds: Sequence[str] = KINDS) -> st.SearchStrategy[list[Change]]:
    """So many edits, one after another; the marks that they bring count up from `fresh`."""
    return st.lists(choices(kinds), min_size=sizes.start, max_size=sizes.stop).map(
        lambda edits: [Change(*edit, fresh=fresh + at) for at, edit in enumerate(edits)]
    )


ANY, BEFORE = changes(100, range(8)), changes(200, range(3))
_OF_SIDE = [kind for kind in (*SETTERS, *KINDS) if kind != "duplicate"]
MINE, THEIRS = changes(300, range(2, 5), _OF_SIDE), changes(400, range(2, 5), _OF_SIDE)
"""Edits after which a step is known: the copy of a step that is edited afterwards passes for it."""


def steps_of_edits(workflow: Workflow, edits: Iterable[Change]) -> Iterable[tuple[Change, Workflow, Plan]]:
    """After each edit that is not refused: the edit, the workflow and the plan.

    Raises `AssertionError` where the product refuses what the model takes, and where they differ.
    """
    plan = plan_of(workflow)
    for change in edits:
        if len(plan) > MOST_STEPS and change.kind in ("add", "duplicate"):
            continue
        edit, target = change.of(plan)
        try:
            after = edit(workflow)
        except WorkflowError:
            after = None
        assert (after and plan_of(after)) == target, f"{change} of {plan}"
        if after is not None and target is not None:
            workflow, plan = after, target
            yield change, workflow, plan


def last(workflow: Workflow, edits: Iterable[Change]) -> Workflow:
    """The workflow after all these edits."""
    return [workflow, *(after for _, after, _ in steps_of_edits(workflow, edits))][-1]
