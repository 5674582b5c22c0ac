"""Every kind of event survives being written as JSON."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import ValidationError

from conductor.planner.parsing.parse import parse
from conductor.runs.events import (
    EVENT,
    AnswerKept,
    BudgetExceeded,
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanningThought,
    PlanRejected,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCallDelta,
    StepCancelled,
    StepDelta,
    StepFailed,
    StepFellBack,
    StepFinished,
    StepInner,
    StepKept,
    StepPaused,
    StepRetried,
    StepReused,
    StepStarted,
    StepThought,
    StepToolsCalled,
    StepToolsContinued,
    StepToolsHeld,
    StepToolsOffered,
    StepToolsReturned,
    WorkflowPlanned,
)
from conductor.runs.scope import RunScope
from conductor.values.budget import Budget
from conductor.values.message_parts.tool_use import ToolQuestion, ToolRequest, ToolUse
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, Request, SeenResponse, Usage
from conductor.values.output import HandEdit, Output
from tests.support.runs.workflow_cases import workflow_of

REQUEST = Request(messages=(Message(role="user", parts=(Part(kind="query", text="why?"),)),))
OUTPUT = Output(
    fingerprint="f",
    text="said",
    worker="alpha",
    worker_kind="simulated",
    seconds=0.5,
    request_id="req_1",
    run="r",
    step=0,
)
CALL = ToolRequest(server="web", tool="weather", call=ToolCall(id="a", name="web__weather", arguments="{}"))
STAMP = {"run": "r", "seq": 0, "at": 1.5}
SPOKEN = "model_id: [0]\nsubtasks = ['do']\naccess_list = [[]]"
EMPTY = "model_id = []\nsubtasks = []\naccess_list = []"

EVENTS: list[Event] = [
    PlanningStarted(**STAMP, query="why?", planner="rules", planner_kind="offline"),
    PlanningDelta(**STAMP, text="so "),
    WorkflowPlanned(**STAMP, report=parse(SPOKEN, workers=["alpha"]), usage=Usage(), seconds=0.1),
    PlanRejected(**STAMP, report=parse("no", workers=["alpha"]), usage=Usage(prompt_tokens=1), seconds=0.1),
    PlanningThought(**STAMP, text="hm"),
    PlanningRetried(**STAMP, attempt=1, message="busy", seconds=0.5, withdrawn=7),
    AnswerKept(
        **STAMP, report=parse(EMPTY, workers=["alpha"], round=2), reason="good", usage=Usage(), seconds=0.1
    ),
    PlanningFailed(**STAMP, message="gone"),
    RunStarted(
        **STAMP,
        query="why?",
        workflow=workflow_of((), (0,)),
        parent="before",
        round=2,
        previous=(SeenResponse(step=0, worker="alpha", instruction="do", response="said", round=1),),
        budget=Budget(tokens=9),
        covers=(0,),
        scope=RunScope(kind="to", step=0, passes=(0,)),
    ),
    StepKept(**STAMP, step=0, output=OUTPUT.by_hand("mine", edit=HandEdit(at=1.5)), because="pinned"),
    StepReused(**STAMP, step=0, output=OUTPUT, request=REQUEST),
    StepStarted(**STAMP, step=0, worker="alpha", worker_kind="simulated", fingerprint="f", request=REQUEST),
    StepDelta(**STAMP, step=0, text="wörd\u2028"),
    StepThought(**STAMP, step=0, text="hm"),
    StepCallDelta(**STAMP, step=0, index=0, text="{", id="a", name="weather"),
    StepRetried(**STAMP, step=0, attempt=1, message="busy", seconds=0.5),
    StepFellBack(**STAMP, step=0, worker="beta", worker_kind="model", message="busy"),
    StepToolsOffered(**STAMP, step=0, request=REQUEST),
    StepToolsCalled(
        **STAMP, step=0, calls=(CALL,), answer=Message("assistant", ()), worker="alpha", fingerprint="f"
    ),
    StepToolsHeld(**STAMP, step=0, questions=(ToolQuestion(at=0, why="acts", once=True),)),
    StepToolsContinued(
        **STAMP,
        step=0,
        worker="beta",
        worker_kind="model",
        stands_in=True,
        fingerprint="f",
        request=REQUEST,
        calls=(CALL,),
    ),
    StepToolsReturned(
        **STAMP,
        step=0,
        uses=(ToolUse(**dict(CALL), result="Sunny.", seconds=0.5, cut=60_000, repeatable=True),),
        request=REQUEST,
    ),
    StepInner(**STAMP, step=0, event=StepInner(**STAMP, step=1, event=PlanningDelta(**STAMP, text="so "))),
    BudgetExceeded(**STAMP, limit="cost", used=0.2, allowed=0.1),
    StepFinished(**STAMP, step=0, output=OUTPUT),
    StepFailed(**STAMP, step=0, message="broke", usage=Usage(), seconds=0.1),
    StepBlocked(**STAMP, step=1, by=(0,)),
    StepPaused(**STAMP, step=0, worker="alpha", worker_kind="simulated", fingerprint="f", request=REQUEST),
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


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (BudgetExceeded(**STAMP, limit="cost", used=0.21234, allowed=0.1), "$0.2123 of $0.1 used"),
        (BudgetExceeded(**STAMP, limit="seconds", used=2.04, allowed=2), "2.0 of 2 seconds used"),
        (BudgetExceeded(**STAMP, limit="tokens", used=12345, allowed=10000), "12,345 of 10,000 tokens used"),
        (
            BudgetExceeded(**STAMP, limit="tokens", used=900, allowed=1000, needed=120, estimated=True),
            "about 900 of 1,000 tokens used, and the next call takes at least about 120 tokens",
        ),
        (
            BudgetExceeded(**STAMP, limit="cost", used=0.05, allowed=0.2, needed=0.163),
            "$0.0500 of $0.2 used, and the next call takes at least about $0.1630",
        ),
        (BudgetExceeded(**STAMP, limit="calls", used=2, allowed=2, estimated=True), "2 of 2 calls used"),
    ],
)
def test_a_crossed_budget_states_how_much_of_what(event: BudgetExceeded, words: str) -> None:
    assert event.words == words
