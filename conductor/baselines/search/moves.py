"""The moves of a search: each makes another workflow of one, by an edit that a person could make. Pure.

Knows no pool and no results. A move that does not fit a workflow gives None; `child` draws another one then.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from conductor.baselines.ensembles import VOTE, single
from conductor.baselines.search.instructions import CHECK, PARTS, Instructions
from conductor.errors import WorkflowError
from conductor.values.messages import Sampling
from conductor.workers.computed.vote import VoteWorker
from conductor.workflow.edits import WithoutIdleSteps, edited, single_edits
from conductor.workflow.model import Step, Workflow

_TRIES = 20
"""Moves that are drawn before a workflow is left alone."""

_COPIES = 0.25
"""How often a new step is one of another plan."""

_MORE = 0.5
"""How often a new instruction stands before the old one; else in its place."""

VOTING = VoteWorker().card.name


@dataclass(frozen=True)
class Making:
    """What a workflow for `question` is made of: `workers` by name, at most `max_steps`, instructions, and
    steps of the `others`, plans that are right on questions like it.
    """

    question: str
    workers: tuple[str, ...]
    max_steps: int
    instructions: Instructions
    others: tuple[Workflow, ...]
    rng: random.Random

    def step(self, beside: str, *access: int) -> Step:
        """A step that reads these: one of another plan, or a new one by its worker, `beside` or any."""
        other = self.rng.choice(self.rng.choice(self.others).steps)
        if bool(other.access) == bool(access) and self.rng.random() < _COPIES:
            return other.model_copy(update={"access": access, "lineage": None})
        near = [each for each in (other.worker, beside) if each in self.workers]
        worker = self.rng.choice((*near, self.instructions.worker(self.question, self.workers, self.rng)))
        text = self.instructions.draw(self.question, worker, self.rng, reads=bool(access))
        return Step(instruction=text, worker=worker, access=access)

    def place(self, workflow: Workflow) -> int:
        return self.rng.randrange(len(workflow))


_Move = Callable[[Workflow, Making], Workflow | None]


def child(workflow: Workflow, making: Making, names: Sequence[str] = ()) -> tuple[Workflow, str] | None:
    """A workflow that one or two moves make of this one, and their names; None if none was found. `names` are
    the moves to draw from, without any: all.
    """
    names = names or tuple(MOVES)
    for _ in range(_TRIES):
        plan = workflow
        done: list[str] = []
        for _ in range(making.rng.choice((1, 1, 1, 2))):
            name = making.rng.choices(names, [MOVES[each][0] for each in names])[0]
            try:
                moved = MOVES[name][1](plan, making)
            except WorkflowError:
                moved = None
            if moved is not None:
                plan, done = moved, [*done, name]
        plan = WithoutIdleSteps().of(plan)
        if plan != workflow and len(plan) <= making.max_steps:
            return plan, ", ".join(done) or "idle steps less"
    return None


def _without(
    workflow: Workflow, making: Making, *, edges: bool = False, steps: bool = False
) -> Workflow | None:
    edits = single_edits(workflow, (), edges=edges, steps=steps, swaps=False)
    return edited(workflow, (making.rng.choice(edits),)) if edits else None


def _with_edge(workflow: Workflow, making: Making) -> Workflow | None:
    reader = making.place(workflow)
    left = sorted(set(range(reader)) - set(workflow.steps[reader].access))
    if not left:
        return None
    return workflow.with_access(reader, {*workflow.steps[reader].access, making.rng.choice(left)})


def _with_step_before(workflow: Workflow, making: Making) -> Workflow:
    """A step whose work one of the steps reads besides."""
    reader = making.place(workflow)
    new = making.step(workflow.steps[reader].worker)
    after = workflow.add_step(new, at=reader)
    return after.with_access(reader + 1, {*after.steps[reader + 1].access, reader})


def _with_step_behind(workflow: Workflow, making: Making) -> Workflow:
    final = workflow.final
    return workflow.add_step(making.step(workflow.steps[final].worker, final))


def _split(workflow: Workflow, making: Making) -> Workflow:
    """Two halves in the place of a step, for the steps that read it; those of the final one are merged."""
    at = making.place(workflow)
    step = workflow.steps[at]
    halves = [
        step.model_copy(
            update={
                "instruction": making.instructions.fill(each, making.question, step.worker, making.rng),
                "lineage": None,
            }
        )
        for each in PARTS
    ]
    after = workflow.with_instruction(at, halves[0].instruction).add_step(halves[1], at=at + 1)
    if at == workflow.final:
        return after.add_step(making.step(step.worker, at, at + 1))
    for reader in range(at + 2, len(after)):
        if at in (access := after.steps[reader].access):
            after = after.with_access(reader, {*access, at + 1})
    return after


def _by_another(workflow: Workflow, making: Making) -> Workflow | None:
    edits = single_edits(workflow, making.workers, edges=False, steps=False, swaps=True)
    return edited(workflow, (making.rng.choice(edits),)) if edits else None


def _checked(workflow: Workflow, making: Making) -> Workflow:
    worker = making.rng.choice(making.workers)
    return workflow.add_step(Step(instruction=CHECK, worker=worker, access=(workflow.final,)))


def _voted(workflow: Workflow, making: Making) -> Workflow:
    """A vote of the answer, of what two workers answer alone, and of nothing else."""
    final = workflow.final
    for worker in making.rng.sample(making.workers, min(2, len(making.workers))):
        workflow = workflow.add_step(single(worker, Sampling()).steps[0])
    return workflow.add_step(
        Step(instruction=VOTE, worker=VOTING, access=(final, *range(final + 1, len(workflow))))
    )


def _otherwise(workflow: Workflow, making: Making) -> Workflow:
    """Another instruction of a step, or a sentence more."""
    at = making.place(workflow)
    step = workflow.steps[at]
    new = making.instructions.draw(making.question, step.worker, making.rng, reads=bool(step.access))
    more = making.rng.random() < _MORE and new not in step.instruction
    return workflow.with_instruction(at, f"{new} {step.instruction}" if more else new)


def _shorter(workflow: Workflow, making: Making) -> Workflow | None:
    """A sentence less of an instruction that has several."""
    at = making.place(workflow)
    sentences = workflow.steps[at].instruction.split(". ")
    if len(sentences) == 1:
        return None
    gone = making.rng.randrange(len(sentences))
    left = ". ".join(each for place, each in enumerate(sentences) if place != gone)
    return workflow.with_instruction(at, left if left.endswith(".") else f"{left}.")


def _followed(workflow: Workflow, making: Making) -> Workflow:
    """The final step of another plan behind this one."""
    other = making.rng.choice(making.others)
    final = other.steps[other.final]
    return workflow.add_step(final.model_copy(update={"access": (workflow.final,), "lineage": None}))


MOVES: Mapping[str, tuple[int, _Move]] = {
    "an edge less": (1, lambda workflow, making: _without(workflow, making, edges=True)),
    "an edge more": (1, _with_edge),
    "a step less": (2, lambda workflow, making: _without(workflow, making, steps=True)),
    "a step before": (2, _with_step_before),
    "a step behind": (7, _with_step_behind),
    "a step split": (4, _split),
    "another worker": (3, _by_another),
    "a check": (1, _checked),
    "a vote": (1, _voted),
    "another instruction": (3, _otherwise),
    "a sentence less": (1, _shorter),
    "another plan's last step": (4, _followed),
}
"""By name, with how often each is drawn."""

LESS = ("an edge less", "a step less", "a sentence less")
"""The moves that make a plan cheaper."""
