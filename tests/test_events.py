"""Every kind of event survives being written as JSON."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import ValidationError
from workflow_cases import workflow_of

from conductor.events import (
    EVENT,
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFinished,
    StepReused,
    StepStarted,
    WorkflowPlanned,
)
from conductor.messages import Message, Part, Request, Usage
from conductor.output import Output
from conductor.planner.parse import parse

REQUEST = Request(messages=(Message(role="user", parts=(Part(kind="query", text="why?"),)),))
OUTPUT = Output(
    fingerprint="f", text="said", worker="alpha", worker_kind="simulated", seconds=0.5, run="r", step=0
)
STAMP = {"run": "r", "seq": 0, "at": 1.5}
SPOKEN = "model_id: [0]\nsubtasks = ['do']\naccess_list = [[]]"

EVENTS: list[Event] = [
    PlanningStarted(**STAMP, query="why?", planner="rules", planner_kind="offline"),
    PlanningDelta(**STAMP, text="so "),
    WorkflowPlanned(**STAMP, report=parse(SPOKEN, workers=["alpha"]), usage=Usage(), seconds=0.1),
    PlanRejected(**STAMP, report=parse("no", workers=["alpha"]), usage=Usage(prompt_tokens=1), seconds=0.1),
    PlanningFailed(**STAMP, message="gone"),
    RunStarted(**STAMP, query="why?", workflow=workflow_of((), (0,)), parent="before"),
    StepReused(**STAMP, step=0, output=OUTPUT, request=REQUEST),
    StepStarted(**STAMP, step=0, worker="alpha", worker_kind="simulated", fingerprint="f", request=REQUEST),
    StepDelta(**STAMP, step=0, text="wörd\u2028"),
    StepFinished(**STAMP, step=0, output=OUTPUT),
    StepFailed(**STAMP, step=0, message="broke", usage=Usage(), seconds=0.1),
    StepBlocked(**STAMP, step=1, by=(0,)),
    StepCancelled(**STAMP, step=0, usage=Usage(), seconds=0.1),
    RunFinished(**STAMP, outcome="finished", answer="said", answer_step=0),
]


def test_the_table_has_every_kind_of_event() -> None:
    union = get_args(get_args(Event)[0])
    assert {type(event) for event in EVENTS} == set(union)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_reads_back_from_json(event: Event) -> None:
    assert EVENT.validate_json(EVENT.dump_json(event)) == event


@pytest.mark.parametrize(
    "wrong",
    [
        {**STAMP, "type": "step_vanished", "step": 0},
        {**STAMP, "type": "step_delta", "step": 0},
        {**STAMP, "type": "step_delta", "step": 0, "text": "a", "extra": 1},
        {"type": "step_delta", "step": 0, "text": "a"},
    ],
)
def test_what_is_no_event_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EVENT.validate_python(wrong)
