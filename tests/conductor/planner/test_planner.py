"""Planning says what a Conductor wrote and what stands in it, and never puts another plan in its place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from conductor.errors import QueryError, WorkerError
from conductor.events import (
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningStarted,
    PlanRejected,
    WorkflowPlanned,
)
from conductor.messages import Completion, Delta, Usage
from conductor.plan import Dialect, Form
from conductor.planner.conductor import Asked, PlanRequest
from conductor.planner.planner import MAX_QUERY, check_query, plan
from conductor.run_state import fold
from conductor.workers.pool import Pool
from conductor.workers.protocol import WorkerCard

GOOD = "I think.\nmodel_id = [0, 1]\nsubtasks = ['plan', 'do']\naccess_list = [[], [0]]"


@dataclass
class Scripted:
    """A Conductor that says these pieces, then ends with a completion, an error, or nothing."""

    pieces: tuple[str, ...]
    end: Completion | Exception | None
    dialect: Dialect = "any"
    asked: Asked | None = None
    closed: bool = False
    card = WorkerCard(name="script", kind="simulated", strengths="says its lines", model="script")

    async def stream(self, _: PlanRequest) -> AsyncIterator[Asked | Delta | Completion]:
        try:
            if self.asked is not None:
                yield self.asked
            for piece in self.pieces:
                yield Delta(text=piece)
            if isinstance(self.end, Exception):
                raise self.end
            if self.end is not None:
                yield self.end
        finally:
            self.closed = True


async def planned(conductor: Scripted, pool: Pool, *, max_steps: int = 5) -> list[Event]:
    request = PlanRequest(query="why?", workers=tuple(pool.cards.values()), max_steps=max_steps)
    events = [event async for event in plan(request, conductor=conductor, run="p")]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert isinstance(events[0], PlanningStarted)
    assert conductor.closed
    return events


async def test_a_good_completion_is_planned(pool: Pool) -> None:
    usage = Usage(prompt_tokens=9, completion_tokens=None)
    events = await planned(Scripted((GOOD[:9], GOOD[9:]), Completion(text=GOOD, usage=usage)), pool)
    assert [event.text for event in events if isinstance(event, PlanningDelta)] == [GOOD[:9], GOOD[9:]]
    end = events[-1]
    assert isinstance(end, WorkflowPlanned)
    assert (end.usage, end.report.text, end.report.reasoning) == (usage, GOOD, "I think.")
    assert end.report.workflow is not None
    assert [step.worker for step in end.report.workflow.steps] == ["alpha", "beta"]
    assert fold(events).report == end.report


@pytest.mark.parametrize(("form", "repairs"), [("json", []), ("lists", ["json-steps"])])
async def test_a_plan_is_read_as_it_was_asked_for(form: Form, repairs: list[str], pool: Pool) -> None:
    asked = Asked(messages=(), form=form)
    text = '{"steps": [{"instruction": "a", "agent": 0, "access": []}]}'
    end = (await planned(Scripted((text,), Completion(text=text), asked=asked), pool))[-1]
    assert isinstance(end, WorkflowPlanned)
    assert [repair.kind for repair in end.report.repairs] == repairs


@pytest.mark.parametrize(
    ("text", "dialect", "max_steps", "reason"),
    [
        ("no plan here", "any", 5, "no plan in the text"),
        (GOOD.replace("[0, 1]", "[0, 7]"), "any", 5, "worker 7, which the pool does not have"),
        (GOOD, "any", 1, "has 2 steps; the limit is 1"),
        (GOOD, "binary", 5, "Step 2"),
    ],
)
async def test_a_bad_completion_is_rejected_with_its_reasons(
    text: str, dialect: Dialect, max_steps: int, reason: str, pool: Pool
) -> None:
    conductor = Scripted((text,), Completion(text=text), dialect=dialect)
    end = (await planned(conductor, pool, max_steps=max_steps))[-1]
    assert isinstance(end, PlanRejected)
    assert reason in " ".join(problem.message for problem in end.report.problems)
    assert (end.report.workflow, end.report.text) == (None, text)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (WorkerError("script is busy."), "script is busy."),
        (KeyError("secret"), "script broke with KeyError"),
        (None, "script stopped without ending its plan"),
    ],
)
async def test_a_conductor_that_says_no_completion_has_failed(
    end: Exception | None, message: str, pool: Pool
) -> None:
    events = await planned(Scripted((GOOD,), end), pool)
    assert isinstance(events[-1], PlanningFailed)
    assert message in events[-1].message
    assert "secret" not in events[-1].message
    assert fold(events).planning_text == GOOD


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "The query is empty"),
        (" \n\t", "The query is empty"),
        ("x" * (MAX_QUERY + 1), "50,001 characters; the limit is 50,000"),
    ],
)
def test_a_query_that_cannot_be_planned_is_refused(query: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        check_query(query)


def test_a_query_is_taken_without_the_space_around_it() -> None:
    assert check_query("  why?\n") == "why?"
    assert len(check_query("x" * MAX_QUERY)) == MAX_QUERY


def test_a_query_can_always_be_written_down() -> None:
    assert check_query("a \ud800 b").encode() == b"a ? b"


async def test_a_conductor_that_calls_no_model_keeps_what_one_would_have_been_asked(pool: Pool) -> None:
    events = await planned(Scripted((GOOD,), Completion(text=GOOD)), pool, max_steps=3)
    end = events[-1]
    assert isinstance(end, WorkflowPlanned)
    prompt = end.report.prompt
    assert prompt is not None
    assert (prompt.sent, prompt.max_steps, prompt.workers) == (False, 3, pool.names)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "why?" in prompt.messages[1].content
