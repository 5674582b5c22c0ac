"""Requests as spans: where they belong, how they ended, and what the spans around them used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from conductor.planner.parsing.parse import parse
from conductor.runs.events import (
    AnswerKept,
    Event,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    RunStarted,
    StepCancelled,
    StepFailed,
    StepFellBack,
    StepInner,
    StepRetried,
    WorkflowPlanned,
)
from conductor.runs.ledger_entry import entries_of
from conductor.values.charge import Charge, total_of
from conductor.values.messages import Usage
from studio.telemetry.spans import Span, SpanReader
from tests.support.runs import nested_run
from tests.support.runs.conductor_cases import plan_text

USED = Usage(prompt_tokens=7, completion_tokens=2, cost=0.5)
STOPPED = Charge(worker="a", kind="model", purpose="step", usage=USED, stopped=True)
CHARGE = replace(STOPPED, stopped=False)
REPORT = parse(plan_text((0, "do", "[]")), workers=["a"], dialect="any", max_steps=5)
PLANNED = {"report": REPORT, "usage": USED, "seconds": 1.0, "charge": CHARGE}
RETRIED = {"attempt": 1, "message": "503", "seconds": 2.0}
Tell = Callable[[nested_run.Teller], Event]
OF_A_STEP: dict[str, tuple[Tell, str]] = {
    "finished": (lambda teller: teller.finished(0, "a", "text", usage=USED), "finished"),
    "empty": (lambda teller: teller.finished(0, "a", "", usage=USED), "finished"),
    "retried": (lambda teller: teller.tell(StepRetried, step=0, charge=CHARGE, **RETRIED), "failed"),
    "fell back": (
        lambda teller: teller.tell(
            StepFellBack, step=0, worker="b", worker_kind="model", message="503", charge=CHARGE
        ),
        "failed",
    ),
    "failed": (
        lambda teller: teller.tell(StepFailed, step=0, message="503", seconds=1.0, charge=CHARGE),
        "failed",
    ),
    "over budget": (
        lambda teller: teller.tell(StepFailed, step=0, message="over", seconds=1.0, charge=STOPPED),
        "cancelled",
    ),
    "cancelled": (
        lambda teller: teller.tell(StepCancelled, step=0, seconds=1.0, charge=STOPPED),
        "cancelled",
    ),
}
OF_A_PLAN: dict[str, tuple[Tell, str]] = {
    "retried": (lambda teller: teller.tell(PlanningRetried, charge=CHARGE, **RETRIED), "failed"),
    "planned": (lambda teller: teller.tell(WorkflowPlanned, **PLANNED), "finished"),
    "rejected": (lambda teller: teller.tell(PlanRejected, **PLANNED), "finished"),
    "kept": (lambda teller: teller.tell(AnswerKept, reason="good", **PLANNED), "finished"),
    "failed": (lambda teller: teller.tell(PlanningFailed, message="503", charge=CHARGE), "failed"),
    "stopped": (
        lambda teller: teller.tell(PlanningFailed, message="stopped", stopped=True, charge=STOPPED),
        "cancelled",
    ),
}


def spans_of(events: Sequence[Event]) -> list[Span]:
    reader = SpanReader()
    read = [change for event in events for change in reader.read(event)]
    return [*(change for change in read if isinstance(change, Span)), *reader.end(events[-1].at)]


def ends(spans: Sequence[Span]) -> dict[tuple[str, ...], Span]:
    return {span.place: span for span in spans if span.outcome is not None}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("case", OF_A_STEP)
def test_a_request_of_a_step_is_a_span_inside_of_it(case: str, inside: bool) -> None:
    tell, outcome = OF_A_STEP[case]
    teller = nested_run.Teller("r")
    events = [
        teller.tell(RunStarted, query="q", workflow=nested_run.WORKFLOW),
        teller.started(0, "a"),
        tell(teller),
    ]
    place: tuple[str, ...] = ("r",)
    if inside:
        outer = nested_run.Teller("outer")
        start = outer.started(1, "conductor")
        events = [start, *(outer.tell(StepInner, step=1, event=event) for event in events)]
        place = ("outer", "1", "r")
    spans = spans_of(events)
    (call,) = [span for span in spans if span.kind == "call"]
    assert (call.parent, call.worker, call.step, call.outcome) == ((*place, "0"), "a", 0, outcome)
    assert call.charge is not None
    assert call.charge.purpose == ("nested" if inside else "step")
    assert call.seconds == pytest.approx(0.1)
    for around in (place[:depth] for depth in range(len(place) + 1)):
        if around in ends(spans):
            assert ends(spans)[around].used == CHARGE.total


@pytest.mark.parametrize("case", OF_A_PLAN)
def test_a_request_of_a_planner_is_a_span_inside_of_its_planning(case: str) -> None:
    tell, outcome = OF_A_PLAN[case]
    teller = nested_run.Teller("p")
    start = teller.tell(PlanningStarted, query="q", planner="a", planner_kind="model", round=2)
    spans = spans_of([start, tell(teller)])
    (call,) = [span for span in spans if span.kind == "call"]
    assert (call.parent, call.step, call.round, call.outcome) == (("p",), None, 2, outcome)
    assert ends(spans)[("p",)].used == CHARGE.total


def test_a_further_request_begins_after_its_pause() -> None:
    teller = nested_run.Teller("r")
    events = [teller.started(0, "a"), OF_A_STEP["retried"][0](teller)]
    teller.at += 5.0
    first, second = (span for span in spans_of([*events, teller.finished(0, "a", "text")]) if span.charge)
    assert second.started_at == pytest.approx((first.ended_at or 0.0) + RETRIED["seconds"])
    assert second.seconds == pytest.approx(3.1)


def test_the_spans_of_a_run_have_all_entries_of_the_ledger() -> None:
    events = nested_run.events()
    entries = [entry for event in events for entry in entries_of(event)]
    spans = spans_of(events)
    assert [span.charge for span in spans if span.kind == "call"] == [entry.charge for entry in entries]
    assert ends(spans)[("run",)].used == total_of(entry.charge for entry in entries)
    places = [span.place for span in spans if span.outcome is not None]
    assert len(set(places)) == len(places)
