"""Planning reports what a Conductor wrote and what stands in it, and never puts another plan in its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest

from conductor.engine.meter import Meter, Requests
from conductor.errors import QueryError, WorkerError
from conductor.planner.conductor import OutgoingPrompt, PlanRequest
from conductor.planner.planner import check_query, plan
from conductor.runs.events import (
    Event,
    PlanningDelta,
    PlanningFailed,
    PlanningRetried,
    PlanningStarted,
    PlanRejected,
    WorkflowPlanned,
)
from conductor.runs.state import fold
from conductor.values.budget import NO_BUDGET
from conductor.values.conversation import MAX_QUERY
from conductor.values.messages import Completion, Delta, Retried, Thought, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import StreamItem, WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.stream import BATCH_SECONDS
from conductor.workflow.plan_report import Dialect, Form
from tests.support.runs.simulated_time import in_simulated_time
from tests.support.runs.tool_cases import Caller, with_tools
from tests.support.runs.worker_cases import PlainIterator

GOOD = "I think.\nmodel_id = [0, 1]\nsubtasks = ['plan', 'do']\naccess_list = [[], [0]]"


@dataclass
class Scripted:
    """A Conductor that writes these pieces, then ends with a completion, an error, or nothing.

    It waits `pause` seconds after each piece, 0 for not at all.
    """

    pieces: tuple[str, ...]
    end: Completion | BaseException | None
    dialect: Dialect = "any"
    event: OutgoingPrompt | None = None
    closed: bool = False
    pause: float = 0.0
    card = WorkerCard(name="script", kind="simulated", strengths="says its lines", model="script")

    async def stream(self, _: PlanRequest) -> AsyncIterator[OutgoingPrompt | Delta | Completion]:
        try:
            if self.event is not None:
                yield self.event
            for piece in self.pieces:
                yield Delta(text=piece)
                if self.pause:
                    await asyncio.sleep(self.pause)
            if isinstance(self.end, BaseException):
                raise self.end
            if self.end is not None:
                yield self.end
        finally:
            self.closed = True


async def planned(conductor: Scripted, pool: Pool, *, max_steps: int = 5) -> list[Event]:
    request = PlanRequest(
        query="why?", workers=tuple(worker.card for worker in pool.workers), max_steps=max_steps
    )
    events = [event async for event in plan(request, conductor=conductor, run="p")]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert isinstance(events[0], PlanningStarted)
    assert conductor.closed
    return events


def test_what_is_written_slowly_comes_as_it_is_written(pool: Pool) -> None:
    conductor = Scripted((GOOD[:9], GOOD[9:]), Completion(text=GOOD), pause=1.0)
    events = in_simulated_time(planned(conductor, pool))
    assert [event.text for event in events if isinstance(event, PlanningDelta)] == [GOOD[:9], GOOD[9:]]


def test_what_is_written_fast_comes_in_batches(pool: Pool) -> None:
    conductor = Scripted(tuple(GOOD), Completion(text=GOOD), pause=BATCH_SECONDS / 10)
    events = in_simulated_time(planned(conductor, pool))
    texts = [event.text for event in events if isinstance(event, PlanningDelta)]
    assert GOOD.startswith("".join(texts))
    assert len(texts) <= len(GOOD) / 10 + 2


async def test_a_good_completion_is_planned(pool: Pool) -> None:
    usage = Usage(prompt_tokens=9, completion_tokens=None)
    events = await planned(Scripted((GOOD[:9], GOOD[9:]), Completion(text=GOOD, usage=usage)), pool)
    end = events[-1]
    assert isinstance(end, WorkflowPlanned)
    assert (end.usage, end.report.text, end.report.reasoning) == (usage, GOOD, "I think.")
    assert end.report.workflow is not None
    assert [step.worker for step in end.report.workflow.steps] == ["alpha", "beta"]
    assert fold(events).report == end.report


@dataclass
class Plain:
    """A Conductor whose stream is an iterator that has no `aclose`."""

    items: Sequence[StreamItem] = (Completion(text=GOOD),)
    dialect: Dialect = "any"
    card = WorkerCard(name="script", kind="simulated", strengths="says its lines", model="script")

    def stream(self, _: PlanRequest) -> AsyncIterator[StreamItem]:
        return PlainIterator(self.items)


async def test_a_conductor_may_answer_by_a_plain_iterator(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    request = PlanRequest(query="why?", workers=tuple(worker.card for worker in pool.workers), max_steps=5)
    events = [event async for event in plan(request, conductor=Plain(), run="p")]
    assert isinstance(events[-1], WorkflowPlanned)
    assert not caplog.records


async def test_a_report_has_the_providers_name_of_the_call(pool: Pool) -> None:
    events = await planned(Scripted((), Completion(text=GOOD, request_id="req_1")), pool)
    report = fold(events).report
    assert report is not None
    assert report.request_id == "req_1"


async def test_a_plan_that_breaks_off_is_withdrawn_and_its_use_unknown(pool: Pool) -> None:
    retried = Retried(attempt=1, message="Broke.", seconds=0, withdrawn=5)
    usage = Usage(prompt_tokens=1, completion_tokens=1)
    script = [Thought("hm"), Delta("mod"), retried, Delta(GOOD), Completion(text=GOOD, usage=usage)]
    request = PlanRequest(query="why?", workers=tuple(worker.card for worker in pool.workers), max_steps=5)
    conductor = Plain(script)
    requests = Requests(Meter(NO_BUDGET), conductor.card, tuple, purpose="plan")
    events = [event async for event in plan(request, conductor=conductor, run="p", requests=requests)]
    withdrawal = next(at for at, event in enumerate(events) if isinstance(event, PlanningRetried))
    before, after = fold(events[:withdrawal]), fold(events[: withdrawal + 1])
    assert (before.planning_text, before.planning_thought) == ("mod", "hm")
    assert (after.planning_text, after.planning_thought) == ("", "")
    assert after.planning_retries[0].withdrawn == 5
    state = fold(events)
    assert (state.planning_text, state.used.lower.total, state.used.usage.total) == (GOOD, 2, None)


@pytest.mark.parametrize(("form", "repairs"), [("json", []), ("lists", ["json-steps"])])
async def test_a_plan_is_read_as_it_was_asked_for(form: Form, repairs: list[str], pool: Pool) -> None:
    event = OutgoingPrompt(messages=(), form=form)
    text = '{"steps": [{"instruction": "a", "agent": 0, "access": []}]}'
    end = (await planned(Scripted((text,), Completion(text=text), event=event), pool))[-1]
    assert isinstance(end, WorkflowPlanned)
    assert [repair.kind for repair in end.report.repairs] == repairs


@pytest.mark.parametrize(
    ("event", "tools"),
    [
        (OutgoingPrompt(messages=(), tools=(("web",), ())), [("web",), ()]),
        (OutgoingPrompt(messages=()), [None, None]),
        (None, [("web",), ()]),
    ],
)
async def test_a_plan_names_tools_where_its_prompt_listed_them(
    event: OutgoingPrompt | None, tools: list[tuple[str, ...] | None]
) -> None:
    workers = (with_tools(Caller([]), patterns=("web",)), SimulatedWorker("beta"))
    text = f'{GOOD}\ntools = [["web"], []]'
    end = (await planned(Scripted((text,), Completion(text=text), event=event), Pool(workers=workers)))[-1]
    assert isinstance(end, WorkflowPlanned)
    assert end.report.workflow is not None
    assert end.report.prompt is not None
    assert [step.tools for step in end.report.workflow.steps] == tools
    assert bool(end.report.prompt.tools) is (tools[0] is not None)
    assert [repair.kind for repair in end.report.repairs] == ([] if tools[0] else ["other-tools"])


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
        (asyncio.CancelledError(), "script cancelled its own call"),
    ],
)
async def test_a_conductor_that_writes_no_completion_has_failed(
    end: BaseException | None, message: str, pool: Pool
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
    assert check_query("a \ud800 \x00 b") == "a \ufffd \ufffd b"


async def test_a_conductor_that_calls_no_model_keeps_what_one_would_have_been_asked(pool: Pool) -> None:
    events = await planned(Scripted((GOOD,), Completion(text=GOOD)), pool, max_steps=3)
    end = events[-1]
    assert isinstance(end, WorkflowPlanned)
    prompt = end.report.prompt
    assert prompt is not None
    assert (prompt.sent, prompt.max_steps, prompt.workers) == (False, 3, pool.names)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "why?" in prompt.messages[1].content
