"""Workflows and edits for the tests: by shape, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hypothesis import strategies as st

from conductor.values.messages import Sampling
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure

WORKERS = ("alpha", "beta", "gamma")


def workflow_of(*access: Sequence[int], worker: str = "alpha") -> Workflow:
    """One step for each access list, with instructions "task 1", "task 2" and so on."""
    return Workflow.of(
        Step(instruction=f"task {number}", worker=worker, access=tuple(reads))
        for number, reads in enumerate(access, start=1)
    )


@st.composite
def workflows(draw: st.DrawFn, max_steps: int = 7) -> Workflow:
    """Workflows whose instructions are all different."""
    count = draw(st.integers(1, max_steps))
    return Workflow.of(
        Step(
            instruction=f"task {i}",
            worker=draw(st.sampled_from(WORKERS)),
            access=tuple(draw(st.sets(st.integers(0, i - 1)))) if i else (),
        )
        for i in range(count)
    )


EditKind = Literal[
    "worker", "instruction", "access", "sampling", "add", "remove", "move", "pin", "sees_files", "tools",
    "on_failure",
]  # fmt: skip

PINNED = Output(
    fingerprint="", text="pinned", worker="alpha", worker_kind="simulated", seconds=0.0, run="before", step=0
)


@dataclass(frozen=True)
class Edit:
    """An edit of any workflow: positions count round, `mask` has a bit for each earlier step to read."""

    kind: EditKind
    first: int
    second: int
    mask: int
    name: str

    def places(self, steps: int) -> tuple[int, int]:
        """The two positions meant in a workflow of so many steps."""
        return self.first % steps, self.second % steps

    def reads(self, before: int) -> tuple[int, ...]:
        """The positions before `before` that are to be read."""
        return tuple(i for i in range(before) if self.mask >> i & 1)

    def applied(self, workflow: Workflow) -> Workflow:
        """The edited workflow. Raises `WorkflowError` where the edit is not allowed."""
        step, other = self.places(len(workflow))
        match self.kind:
            case "worker":
                return workflow.with_worker(step, WORKERS[other % len(WORKERS)])
            case "instruction":
                return workflow.with_instruction(step, self.name)
            case "access":
                return workflow.with_access(step, self.reads(step))
            case "sampling":
                return workflow.with_sampling(step, Sampling(max_tokens=other + 1))
            case "add":
                new = Step(instruction=self.name, worker=WORKERS[0], access=self.reads(step))
                return workflow.add_step(new, at=step)
            case "remove":
                return workflow.remove_step(step)
            case "move":
                return workflow.move_step(step, other)
            case "pin":
                return workflow.with_pin(step, PINNED.model_copy(update={"text": self.name}))
            case "sees_files":
                return workflow.with_sight_of_files(step, bool(other % 2))
            case "tools":
                # The workers of these cases have none.
                return workflow.with_tools(step, (None, ())[other % 2])
            case "on_failure":
                rule = OnFailure(retries=other % 3, fallback=WORKERS[other % len(WORKERS)])
                return workflow.with_on_failure(step, rule.of_worker(workflow.steps[step].worker))


@st.composite
def edits(draw: st.DrawFn, *, min_size: int = 1, max_size: int) -> list[Edit]:
    """Edits in order; each brings a name of its own."""
    count = draw(st.integers(min_size, max_size))
    return [
        Edit(
            kind=draw(st.sampled_from(get_args(EditKind))),
            first=draw(st.integers(0, 20)),
            second=draw(st.integers(0, 20)),
            mask=draw(st.integers(0, 255)),
            name=f"edit {number}",
        )
        for number in range(count)
    ]
