"""A run in which models do all that they may do on the way, as the events of it.

Step 1 is asked again twice and reasons; step 2 is done by a Conductor, whose first plan is invalid and one of
whose steps is done by a Conductor again; step 3 is answered by a stand-in and cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conductor.planner.parsing.parse import parse
from conductor.runs.events import (
    Event,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepDelta,
    StepFellBack,
    StepFinished,
    StepInner,
    StepRetried,
    StepStarted,
    StepThought,
    WorkflowPlanned,
)
from conductor.values.charge import Charge
from conductor.values.messages import Message, Part, Request, Usage
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow

HOSTILE = "<b>429</b> *Too many* requests"

WORKFLOW = Workflow.of(
    [
        Step(instruction="Collect the facts.", worker="gpt-5"),
        Step(instruction="Work out the hard part.", worker="conductor", access=(0,)),
        Step(instruction="Answer with what was found.", worker="gpt-5", access=(1,)),
    ]
)
INNER = Workflow.of(
    [
        Step(instruction="Split it up.", worker="writer-8b"),
        Step(instruction="Solve the core.", worker="conductor", access=(0,)),
        Step(instruction="Check the result.", worker="critic-7b", access=(0, 1)),
    ]
)
INNERMOST = Workflow.of(
    [
        Step(instruction="Think of a way.", worker="writer-8b"),
        Step(instruction="Go that way.", worker="critic-7b", access=(0,)),
    ]
)
_PLAN = "model_id = [{numbers}]\nsubtasks = [{subtasks}]\naccess_list = [{access}]"
_WORKERS = ["writer-8b", "critic-7b", "conductor"]


@dataclass
class Teller:
    """Writes the events of one run, numbered from 0 and a tenth of a second apart."""

    run: str
    at: float = 1_000.0
    seq: int = field(default=-1)

    def tell(self, kind: Any, **fields: Any) -> Any:
        """The next event."""
        self.seq += 1
        self.at += 0.1
        return kind(run=self.run, seq=self.seq, at=self.at, **fields)

    def started(self, step: int, worker: str, text: str = "Do it.") -> Event:
        """A step's request went out."""
        parts = (Part("query", "Which one?"), Part("instruction", text))
        return self.tell(
            StepStarted,
            step=step,
            worker=worker,
            worker_kind="model",
            fingerprint=f"{self.run}-{step}",
            request=Request(messages=(Message(role="user", parts=parts),)),
        )

    def finished(self, step: int, worker: str, text: str, **fields: Any) -> Event:
        """A step's worker answered; what a Conductor took is that of the requests inside."""
        usage = fields.setdefault("usage", Usage(prompt_tokens=1_000, completion_tokens=200, cost=0.0042))
        kind = fields.setdefault("worker_kind", "model")
        output = Output(
            fingerprint=f"{self.run}-{step}",
            text=text,
            worker=worker,
            seconds=1.0,
            run=self.run,
            step=step,
            **fields,
        )
        charge = Charge(worker=worker, kind=kind, purpose="step", usage=usage)
        nested = worker == "conductor"
        return self.tell(StepFinished, step=step, output=output, charge=None if nested else charge)


def plan_of(workflow: Workflow) -> str:
    """A workflow as a Conductor writes it."""
    steps = workflow.steps
    return _PLAN.format(
        numbers=", ".join(str(_WORKERS.index(step.worker)) for step in steps),
        subtasks=", ".join(repr(step.instruction) for step in steps),
        access=", ".join(str(list(step.access)) for step in steps),
    )


def planned(teller: Teller, text: str, *, attempt: int = 1) -> Iterator[Event]:
    """A Conductor was asked and wrote `text`."""
    report = parse(text, workers=_WORKERS, dialect="any", max_steps=5)
    yield teller.tell(
        PlanningStarted, query="Hard", planner="conductor", planner_kind="model", attempt=attempt
    )
    usage = Usage(prompt_tokens=300, completion_tokens=50, cost=0.001)
    kind = WorkflowPlanned if report.ok else PlanRejected
    charge = Charge(worker="conductor", kind="model", purpose="plan", usage=usage)
    yield teller.tell(kind, report=report, charge=charge, usage=usage, seconds=0.5)


def run_of(workflow: Workflow, teller: Teller, inside: dict[int, list[Event]], name: str) -> Iterator[Event]:
    """The events of a workflow whose steps answer with `name` and their number; `inside` are inner events."""
    yield teller.tell(RunStarted, query="Hard", workflow=workflow)
    for at, step in enumerate(workflow.steps):
        yield teller.started(at, step.worker, step.instruction)
        for event in inside.get(at, []):
            yield teller.tell(StepInner, step=at, event=event)
        yield teller.finished(at, step.worker, f"{name} said {at + 1}.")
    last = workflow.final
    yield teller.tell(RunFinished, outcome="finished", answer=f"{name} said {last + 1}.", answer_step=last)


def innermost() -> list[Event]:
    """What happens inside the inside."""
    plan, run = Teller("plan-deep"), Teller("deep")
    return [*planned(plan, plan_of(INNERMOST)), *run_of(INNERMOST, run, {}, "Deep")]


def inner() -> list[Event]:
    """What happens inside of step 2: an invalid plan, then a run whose step 2 has something inside, too."""
    refused = planned(Teller("refused"), "model_id = [9]\nsubtasks = ['do']\naccess_list = [[]]")
    accepted = planned(Teller("accepted"), plan_of(INNER), attempt=2)
    return [*refused, *accepted, *run_of(INNER, Teller("inner"), {1: innermost()}, "Inner")]


def failed_inner() -> list[Event]:
    """A Conductor inside of a step that gave no plan at all."""
    teller = Teller("none")
    start = teller.tell(PlanningStarted, query="Hard", planner="conductor", planner_kind="model")
    return [start, teller.tell(PlanningFailed, message="conductor could not be reached.")]


def events(run: str = "run") -> list[Event]:
    """The whole run."""
    teller = Teller(run)
    recorded = [teller.tell(RunStarted, query="Which one?", workflow=WORKFLOW), teller.started(0, "gpt-5")]
    recorded += [
        teller.tell(StepRetried, step=0, attempt=1, message=HOSTILE, seconds=1.2),
        teller.tell(StepRetried, step=0, attempt=2, message="503 Overloaded.", seconds=2.5),
        teller.tell(StepThought, step=0, text="First I ask myself what is asked."),
        teller.tell(StepDelta, step=0, text="The facts."),
        teller.finished(0, "gpt-5", "The facts.", reasoning="First I ask myself what is asked."),
        teller.started(1, "conductor"),
    ]
    recorded += [teller.tell(StepInner, step=1, event=event) for event in inner()]
    recorded += [
        teller.finished(1, "conductor", "Inner said 3."),
        teller.started(2, "gpt-5"),
        teller.tell(
            StepFellBack, step=2, worker="writer-8b", worker_kind="simulated", message="gpt-5 is overloaded."
        ),
        teller.finished(
            2,
            "writer-8b",
            "It is the first, because",
            instead_of="gpt-5",
            worker_kind="simulated",
            finish_reason="length",
            usage=Usage(prompt_tokens=900, completion_tokens=64),
        ),
        teller.tell(RunFinished, outcome="finished", answer="It is the first, because", answer_step=2),
    ]
    return recorded
