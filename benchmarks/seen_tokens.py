"""How many tokens a question costs, by who sees what: access lists, everything, Mixture-of-Agents.

Counts the requests that the engine would send, with answers of one length, four characters a token. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.shapes import QUERY, SHAPES, WORKER, simulated_pool
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow

ANSWER = "A paragraph of an answer, as a worker writes it when it is asked for a part of the work. " * 12
CHARACTERS = 4
"""Characters a token, roughly, in English."""

ALL_SHAPES: Mapping[str, Workflow] = {
    "one step": Workflow.of([Step(instruction="Answer the question.", worker=WORKER)]),
    **SHAPES,
}


@dataclass(frozen=True)
class SeenTokens:
    """Tokens of one question, prompts and answers, for a workflow of so many calls."""

    calls: int
    access: int
    everything: int
    mixture: int


def seen_tokens() -> dict[str, SeenTokens]:
    """For each shape."""
    return {
        shape: SeenTokens(
            calls=len(workflow),
            access=tokens(workflow),
            everything=tokens(_seeing(workflow, (range(at) for at in range(len(workflow))))),
            mixture=tokens(mixture_of(workflow)),
        )
        for shape, workflow in ALL_SHAPES.items()
    }


def mixture_of(workflow: Workflow) -> Workflow:
    """A Mixture-of-Agents of as many calls: layers of two that see the layer before, one at the end."""
    last = len(workflow) - 1
    layers = [range(at, min(at + 2, last)) for at in range(0, last, 2)]
    before = [range(0), *layers]
    access = [seen for layer, seen in zip(layers, before, strict=False) for _ in layer]
    return _seeing(workflow, [*access, before[-1]])


def _seeing(workflow: Workflow, access: Iterable[Iterable[int]]) -> Workflow:
    return Workflow.of(
        step.model_copy(update={"access": tuple(seen)})
        for step, seen in zip(workflow.steps, access, strict=True)
    )


def tokens(workflow: Workflow) -> int:
    """Prompts and answers of all steps."""
    bound = BoundWorkflow.of(workflow, query=QUERY, pool=simulated_pool(0.0))
    outputs = {step: _output(step) for step in range(len(workflow))}
    characters = sum(
        len(bound.request(step, outputs).messages[0].content) + len(ANSWER) for step in range(len(workflow))
    )
    return round(characters / CHARACTERS)


def _output(step: int) -> Output:
    return Output(
        fingerprint="", text=ANSWER, worker=WORKER, worker_kind="simulated", seconds=0, run="", step=step
    )
