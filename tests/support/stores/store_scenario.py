"""What the storage tests keep: small workflows and the events of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from conductor.runs.events import (
    Event,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepDelta,
    StepFinished,
    StepStarted,
)
from conductor.values.charge import Charge
from conductor.values.messages import Message, Part, Request, Usage
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import PlanProblem, PlanReport
from storage import RunRecord, SessionStore

REQUEST = Request(messages=(Message(role="user", parts=(Part(kind="query", text="q"),)),))
VALID = PlanReport(text="a plan")
INVALID = PlanReport(text="no plan", problems=(PlanProblem(step=None, message="There is no plan."),))


def chain(*instructions: str) -> Workflow:
    """A workflow whose steps each read the one before."""
    steps = enumerate(instructions)
    return Workflow.of(Step(instruction=text, worker="w", access=(i - 1,) if i else ()) for i, text in steps)


def output(text: str, *, run: str, step: int = 0, fingerprint: str = "f") -> Output:
    """What a worker answered."""
    return Output(
        fingerprint=fingerprint,
        text=text,
        worker="w",
        worker_kind="simulated",
        usage=Usage(prompt_tokens=3, completion_tokens=None),
        seconds=0.5,
        run=run,
        step=step,
    )


def started(run: str, workflow: Workflow, *, seq: int = 0) -> RunStarted:
    """The run's first event."""
    return RunStarted(run=run, seq=seq, at=1.0, query="q", workflow=workflow)


def step_started(run: str, *, seq: int, step: int = 0) -> StepStarted:
    """A step's request went out."""
    return StepStarted(
        run=run,
        seq=seq,
        at=2.0,
        step=step,
        worker="w",
        worker_kind="simulated",
        fingerprint="f",
        request=REQUEST,
    )


def delta(run: str, *, seq: int, text: str = "word ") -> StepDelta:
    """A step's worker wrote some more."""
    return StepDelta(run=run, seq=seq, at=3.0, step=0, text=text)


def step_finished(run: str, text: str, *, seq: int, step: int = 0, fingerprint: str = "f") -> StepFinished:
    """A step's worker answered."""
    step_output = output(text, run=run, step=step, fingerprint=fingerprint)
    return charged(StepFinished(run=run, seq=seq, at=4.0, step=step, output=step_output))


def charged(event: StepFinished) -> StepFinished:
    """The end of a step whose one request took what its output has."""
    output = event.output
    charge = Charge(worker=output.worker, kind=output.worker_kind, purpose="step", usage=output.usage)
    return event.model_copy(update={"charge": charge})


def finished(
    run: str, *, seq: int, outcome: RunOutcome = "finished", answer: str | None = "a"
) -> RunFinished:
    """The run's last event."""
    return RunFinished(
        run=run, seq=seq, at=5.0, outcome=outcome, answer=answer, answer_step=None if answer is None else 0
    )


def begin(store: SessionStore, session: str, run: str) -> RunRecord:
    """A started run of the session's head, of one step where it has none."""
    head = store.revisions.head(session) or store.revisions.add(session, chain("do"), origin="human")
    return store.runs.start(run=run, session=session, revision=head.id)


def keep(store: SessionStore, *events: Event) -> None:
    """Append events and wait until they are durable."""
    for done in [store.runs.append(event) for event in events]:
        done.result(timeout=60)


def ticking() -> Iterator[float]:
    """Seconds that never stand still."""
    return map(float, count(1000))


def by_fingerprint(outputs: Iterable[Output]) -> dict[str, Output]:
    """Outputs by their fingerprint; of equal ones the first."""
    return {output.fingerprint: output for output in reversed(tuple(outputs))}
