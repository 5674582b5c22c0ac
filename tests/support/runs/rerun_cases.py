"""Plans with equal steps, chains of edits that know which step is which, and workers that remember each call.

A fault shows whichever door a plan is run through: `check_cards` compares a run with what went over the wire.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Literal, get_args

from hypothesis import strategies as st

from conductor.engine.schedule import BlastRadius
from conductor.errors import WorkflowError
from conductor.runs.state import RunState
from conductor.values.messages import Completion, Request, Sampling
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow

WORDS = ("yes", "no", "42")
INSTRUCTIONS = ("Solve it.", "Check it.", "Is 17 even?")
NAMES = ("words", "words too", "samples", "samples too")
MOST_STEPS = 8

Key = tuple[str, str, str]


def key_of(worker: str, request: Request) -> Key:
    """A request to a worker, as far as the worker is sent it."""
    contents = "\n\n".join(f"{message.role}: {message.content}" for message in request.messages)
    return worker, contents, request.sampling.model_dump_json()


@dataclass
class Wire:
    """What was sent and answered: the answers to each request to each worker."""

    answers: dict[Key, list[str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """Of each call the instruction, in order."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


@dataclass
class Remembered:
    """Answers one of three words by the request, or, if it `samples`, a new sample to each call."""

    name: str
    wire: Wire
    samples: bool

    @property
    def card(self) -> WorkerCard:
        return WorkerCard(
            name=self.name, kind="simulated", strengths="s", model=self.name, takes_sampling=True
        )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        key = key_of(self.name, request)
        digest = sha256("\n".join(key).encode()).digest()
        text = f"sample {next(self.wire.numbers)}" if self.samples else WORDS[digest[0] % len(WORDS)]
        self.wire.answers.setdefault(key, []).append(text)
        self.wire.calls.append(request.instruction)
        yield Completion(text=text)


def remembered_pool(wire: Wire) -> Pool:
    """Workers that write to one `wire`."""
    return Pool(workers=tuple(Remembered(name, wire, "samples" in name) for name in NAMES))


@dataclass(frozen=True)
class Plan:
    """A workflow whose steps have ids, so that a test knows which step is which after any edits."""

    workflow: Workflow
    ids: tuple[int, ...]


ChangeKind = Literal[
    "instruction", "worker", "access", "add", "duplicate", "remove", "move", "pin", "unpin", "gate",
    "settings", "undo", "nothing",
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """An edit of any plan; numbers count round. `mask` has a bit for each earlier step to read."""

    kind: ChangeKind
    first: int
    second: int
    mask: int

    def applied(self, plans: Sequence[Plan], outputs: Mapping[int, Output]) -> Plan:
        """The plan after the edit of the last of `plans`; `outputs` are what its steps had, by position."""
        plan = plans[-1]
        try:
            return self._applied(plans, outputs)
        except WorkflowError:
            return plan

    def _applied(self, plans: Sequence[Plan], outputs: Mapping[int, Output]) -> Plan:
        plan = plans[-1]
        workflow, ids = plan.workflow, list(plan.ids)
        step, other = self.first % len(workflow), self.second % len(workflow)
        fresh = max(id for each in plans for id in each.ids) + 1
        reads = tuple(at for at in range(step) if self.mask >> at & 1)
        match self.kind:
            case "instruction":
                workflow = workflow.with_instruction(step, INSTRUCTIONS[self.second % len(INSTRUCTIONS)])
            case "worker":
                workflow = workflow.with_worker(step, NAMES[self.second % len(NAMES)])
            case "access":
                workflow = workflow.with_access(step, reads)
            case "add" if len(workflow) < MOST_STEPS:
                new = Step(instruction=INSTRUCTIONS[0], worker=NAMES[2], access=reads)
                workflow = workflow.add_step(new, at=step)
                ids.insert(step, fresh)
            case "duplicate" if len(workflow) < MOST_STEPS:
                workflow = workflow.add_step(workflow.steps[step], at=step + 1)
                ids.insert(step + 1, fresh)
            case "remove":
                workflow = workflow.remove_step(step)
                del ids[step]
            case "move":
                workflow = workflow.move_step(step, other)
                ids.insert(other, ids.pop(step))
            case "pin" if step in outputs:
                workflow = workflow.with_pin(step, outputs[step])
            case "unpin":
                workflow = workflow.with_pin(step, None)
            case "gate":
                workflow = workflow.with_gate(step, not workflow.steps[step].gate)
            case "settings":
                workflow = workflow.with_sampling(step, Sampling(temperature=self.second % 2))
            case "undo":
                return plans[self.first % len(plans)]
            case _:
                pass
        return Plan(workflow, tuple(ids))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans of few instructions and workers, so that many steps are equal."""
    steps = draw(st.integers(1, MOST_STEPS))
    return Plan(
        Workflow.of(
            Step(
                instruction=draw(st.sampled_from(INSTRUCTIONS)),
                worker=draw(st.sampled_from(NAMES)),
                access=tuple(draw(st.sets(st.integers(0, at - 1), max_size=3))) if at else (),
                prompt_style=draw(st.sampled_from([None, None, None, "moa", "research"])),
            )
            for at in range(steps)
        ),
        tuple(range(steps)),
    )


def changes(most: int = 4) -> st.SearchStrategy[list[Change]]:
    """Edits that are made together, before one rerun."""
    number = st.integers(0, 60)
    change = st.builds(
        Change, st.sampled_from(get_args(ChangeKind)), number, number, st.integers(0, 2**MOST_STEPS - 1)
    )
    return st.lists(change, max_size=most)


def check_cards(state: RunState, wire: Wire) -> None:
    """Raise `AssertionError` where a card shows not what its step was sent and gave, or two show one call."""
    assert state.workflow is not None
    calls = []
    for at, (own, done) in enumerate(zip(state.workflow.steps, state.steps, strict=True)):
        if done.output is None or done.kept_because is not None:
            continue
        assert done.request is not None
        answers = wire.answers.get(key_of(own.worker, done.request), [])
        assert done.output.text in answers, f"step {at + 1} shows what was never sent and answered so"
        calls.append((done.output.run, done.output.step))
    assert len(calls) == len(set(calls)), "two steps show one call"


def check_own(before: RunState, ids: Sequence[int], after: RunState, later: Sequence[int]) -> None:
    """Raise `AssertionError` where a step with the same request as before has lost its output."""
    assert before.workflow is not None
    assert after.workflow is not None
    own = {id: (step, done) for id, step, done in zip(ids, before.workflow.steps, before.steps, strict=True)}
    for id, step, done in zip(later, after.workflow.steps, after.steps, strict=True):
        earlier_step, earlier = own.get(id, (None, None))
        if earlier is None or earlier.kept_because is not None or done.kept_because is not None:
            continue
        # A style that hides instructions lets two steps with different ones have the same request.
        same_step = earlier_step is not None and earlier_step.instruction == step.instruction
        if same_step and earlier_step.worker == step.worker and earlier.request == done.request:
            assert done.output == earlier.output, "a step with the same request has lost its own output"


def most_called(radius: BlastRadius, state: RunState) -> frozenset[int]:
    """The steps that a run may call by its forecast: also those behind a gate, where the step at the gate was
    spared because what it reads stayed the same.
    """
    spared = {at for at in radius.behind & radius.spared if state.steps[at].reused}
    return radius.runs if spared else radius.called
