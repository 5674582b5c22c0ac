"""A run starts each step when its inputs are there, reuses what it has, and sends all events in order."""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import pairwise

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.errors import WorkerError, WorkflowError
from conductor.runs.events import (
    Event,
    RunFinished,
    RunStarted,
    StepBlocked,
    StepCancelled,
    StepDelta,
    StepFinished,
    StepRetried,
    StepReused,
    StepStarted,
    StepThought,
)
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState, advance, fold
from conductor.values.messages import Delta, RequestStyle, Thought
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.stream import GRACE_SECONDS
from conductor.workflow.model import Workflow
from tests.support.runs.simulated_time import in_simulated_time, now
from tests.support.runs.worker_cases import (
    Breaking,
    Declining,
    Gated,
    Raising,
    Silent,
    Stubborn,
    events_of,
    outputs_of,
    played,
    run_of,
)
from tests.support.runs.workflow_cases import workflow_of

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


def pool_of(**arguments: object) -> Pool:
    return Pool(workers=(SimulatedWorker(name="alpha", **arguments),))  # type: ignore[arg-type]


def statuses(state: RunState) -> list[str]:
    return [step.status for step in state.steps]


async def settled(gated: Gated, *instructions: str) -> None:
    """Let everything happen that can, then see that exactly these were asked."""
    for _ in range(100):
        await asyncio.sleep(0)
    assert sorted(gated.instructions) == sorted(instructions)


def test_what_a_worker_withdraws_is_recorded_before_it_counts_no_more() -> None:
    worker = Breaking([Thought("hm"), Delta("gre"), Delta("en")])
    workflow = workflow_of((), (0,))
    events = in_simulated_time(events_of(run_of(workflow, Pool(workers=(worker,)))))
    first = [event for event in events if isinstance(event, StepDelta | StepThought | StepRetried)]
    assert [getattr(event, "text", "withdrawn") for event in first[:4]] == ["hm", "gre", "en", "withdrawn"]
    assert isinstance(first[3], StepRetried)
    assert first[3].withdrawn == 7
    texts = [(state.steps[0].reasoning, state.steps[0].text) for state in _states(events)]
    assert ("hm", "green") in texts
    assert ("", "") in texts[texts.index(("hm", "green")) :]
    state = fold(events)
    assert [step.text for step in state.steps] == ["blue", "blue"]
    assert state.steps[0].withdrawn == 7
    assert [event.at for event in events] == sorted(event.at for event in events)


def _states(events: list[Event]) -> list[RunState]:
    """The state after each event from the start of the run."""
    states = [advance(RunState(), events[0])]
    for event in events[1:]:
        states.append(advance(states[-1], event))
    return states


@pytest.mark.parametrize(
    ("first", "workflow", "again"),
    [
        ([Delta("green")], workflow_of(()), False),
        ([Delta("green")], workflow_of((), (0,)), False),
        # Reasoning is not sent on.
        ([Thought("hm")], workflow_of(()), True),
    ],
)
def test_an_answer_that_is_sent_on_is_not_asked_for_again(
    first: list[Delta | Thought], workflow: Workflow, again: bool
) -> None:
    early, final = Breaking([Delta("green")]), Breaking(first, name="beta")
    steps = workflow.steps
    workflow = workflow.model_copy(
        update={"steps": (*steps[:-1], steps[-1].model_copy(update={"worker": "beta"}))}
    )
    pool = Pool(workers=(early, final))
    bound = BoundWorkflow.of(workflow, query="why?", pool=pool)
    run = WorkflowRun(bound, pool, run="r", sent_on=True)
    state = fold(in_simulated_time(events_of(run)))
    assert final.calls == (2 if again else 1)
    assert early.calls == (2 if len(steps) > 1 else 0)
    if again:
        assert state.answer == "blue"
    else:
        assert state.steps[-1].text == "green"
        assert state.steps[-1].message == (
            "alpha broke off; a part was sent on and cannot be withdrawn, run the step again."
        )


async def test_events_are_numbered_without_gaps_and_never_go_back_in_time() -> None:
    start = time.time()
    events = await events_of(run_of(DIAMOND, pool_of(tokens=5, tokens_per_second=2000)))
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(a.at <= b.at for a, b in pairwise(events))
    assert start - 1 < events[0].at <= events[-1].at < time.time() + 1  # Unix time
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert {event.run for event in events} == {"r"}


def parts(events: list[Event]) -> tuple[list[str], str]:
    """The texts of the deltas of a run of one step, and its output's text."""
    [finished] = [event for event in events if isinstance(event, StepFinished)]
    return [event.text for event in events if isinstance(event, StepDelta)], finished.output.text


@pytest.mark.slow
async def test_deltas_show_the_output_from_its_beginning_and_the_end_shows_the_rest() -> None:
    deltas, text = parts(await events_of(run_of(workflow_of(()), pool_of(tokens=60, tokens_per_second=2000))))
    assert text.startswith("".join(deltas))
    assert 1 < len(deltas) < 60


async def test_an_answer_that_comes_whole_is_reported_once() -> None:
    deltas, text = parts(await events_of(run_of(workflow_of(()), pool_of(tokens=60))))
    assert deltas == []
    assert text


async def test_what_a_worker_wrote_before_it_failed_is_reported() -> None:
    pool = pool_of(tokens=60, tokens_per_second=20_000, fail_on="task 1")
    events = await events_of(run_of(workflow_of(()), pool))
    deltas = [event.text for event in events if isinstance(event, StepDelta)]
    assert fold(events).steps[0].text == "".join(deltas)
    assert len("".join(deltas).split()) == 30


async def test_the_stored_request_is_what_the_worker_got() -> None:
    alpha = SimulatedWorker(name="alpha")
    events = await events_of(run_of(DIAMOND, Pool(workers=(alpha,))))
    assert [event.request for event in events if isinstance(event, StepStarted)] == alpha.requests
    assert [seen.step for seen in alpha.requests[-1].seen] == [1, 2]


# -- failure -----------------------------------------------------------------------------------------


async def test_a_failure_reaches_only_the_steps_that_read_it() -> None:
    workflow = workflow_of((), (), (1,), (2, 0), (0,))
    events = await events_of(run_of(workflow, pool_of(fail_on="task 2")))
    state = fold(events)
    assert statuses(state) == ["finished", "failed", "blocked", "blocked", "finished"]
    assert [(event.step, event.by) for event in events if isinstance(event, StepBlocked)] == [
        (2, (1,)),
        (3, (2,)),
    ]
    assert state.status == "finished"
    assert state.warning == "Failed or blocked, but not needed for the answer: step 2, 3, 4."


async def test_a_failed_run_keeps_what_it_has_and_answers_nothing() -> None:
    state = await played(DIAMOND, pool_of(fail_on="task 3", answer="one two three four"))
    assert statuses(state) == ["finished", "finished", "failed", "blocked"]
    assert (state.status, state.answer, state.answer_step) == ("failed", None, None)
    assert state.steps[2].text == ""
    assert state.steps[2].used.tokens == 0, "a worker that breaks off before a word took nothing"
    assert state.usage.total == sum(state.steps[at].output.usage.total for at in (0, 1))


async def test_a_step_that_reads_two_failures_is_blocked_once() -> None:
    workflow = workflow_of((), (), (0, 1))
    events = await events_of(run_of(workflow, pool_of(fail_calls=frozenset((0, 1)))))
    assert statuses(fold(events)) == ["failed", "failed", "blocked"]
    assert [event.by for event in events if isinstance(event, StepBlocked)] == [(0,)]


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (Raising(WorkerError("alpha has no room.")), "alpha has no room."),
        (Raising(ZeroDivisionError("key sk-123")), "alpha broke with ZeroDivisionError"),
        (Raising(asyncio.CancelledError()), "alpha broke off its answer"),
        (Silent(), "alpha stopped without ending its answer"),
    ],
)
async def test_a_workers_fault_fails_its_step_only(
    worker: Raising | Silent, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    workflow = workflow_of((), (0,), ()).with_worker(2, "beta")
    state = await played(workflow, Pool(workers=(worker, SimulatedWorker(name="beta", answer="fine"))))
    assert statuses(state) == ["failed", "blocked", "finished"]
    assert state.answer == "fine"
    message = state.steps[0].message or ""
    assert expected in message
    assert "sk-123" not in message
    assert state.steps[0].text in ("half a ", "and then")


async def test_an_unexpected_fault_is_logged_to_be_fixed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await played(workflow_of(()), Pool(workers=(Raising(ZeroDivisionError("by zero")),)))
    assert "the worker alpha broke" in caplog.text


def test_a_worker_that_the_pool_lacks_is_refused_before_anything_runs(pool: Pool) -> None:
    with pytest.raises(WorkflowError, match="Step 1 names the worker 'delta'"):
        run_of(workflow_of((), worker="delta"), pool)


NOTHING = "Step 3: Its worker answered with nothing."

# -- the answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "answer", "step", "warning"),
    [
        (["one", "two", "three"], "three", 2, None),
        (
            ["one", "two", " \n"],
            "two",
            1,
            f"The final step's response is empty; this is the response of step 2. {NOTHING}",
        ),
        (
            ["one", "", ""],
            "one",
            0,
            f"The final step's response is empty; this is the response of step 1. {NOTHING}",
        ),
        (["", "", ""], None, None, f"Every step's response is empty. {NOTHING}"),
    ],
)
async def test_the_answer_is_the_last_response_that_has_words(
    expected: list[str], answer: str | None, step: int | None, warning: str | None
) -> None:
    worker = SimulatedWorker(name="alpha", answer=lambda request: expected[int(request.instruction[-1]) - 1])
    state = await played(workflow_of((), (0,), (1,)), Pool(workers=(worker,)))
    assert (state.status, state.answer, state.answer_step) == ("finished", answer, step)
    assert state.warning == warning
    assert statuses(state) == ["finished" if text.strip() else "empty" for text in expected]


# -- cancellation ------------------------------------------------------------------------------------


async def test_a_cancelled_run_keeps_what_is_done() -> None:
    gated = Gated()
    gated.gates["task 1"].set()
    run = run_of(DIAMOND, Pool(workers=(gated,)))
    ending = asyncio.create_task(events_of(run))
    await settled(gated, "task 1", "task 2", "task 3")
    run.cancel()
    run.cancel()
    events = await asyncio.wait_for(ending, 60)
    state = fold(events)
    assert statuses(state) == ["finished", "cancelled", "cancelled", "waiting"]
    assert (state.status, state.answer) == ("cancelled", None)
    assert [event.step for event in events if isinstance(event, StepCancelled)] == [1, 2]


async def test_closing_the_events_ends_the_later_steps_of_a_chain() -> None:
    gated = Gated()
    gated.gates["task 1"].set()
    events = run_of(workflow_of((), (0,)), Pool(workers=(gated,))).events()
    async for event in events:
        if isinstance(event, StepStarted) and event.step == 1:
            break
    await settled(gated, "task 1", "task 2")
    before = asyncio.all_tasks()
    await events.aclose()
    await settled(gated, "task 1", "task 2")
    assert len(asyncio.all_tasks()) == len(before) - 1


def test_cancellation_is_final_within_a_second_whatever_a_worker_does() -> None:
    async def cancelled() -> None:
        stubborn = Stubborn()
        run = run_of(workflow_of((), (0,)), Pool(workers=(stubborn,)))
        events: list[Event] = []
        moment = 0.0
        async for event in run.events():
            events.append(event)
            if isinstance(event, StepDelta):
                moment = now()
                run.cancel()
        assert now() - moment == pytest.approx(GRACE_SECONDS)
        state = fold(events)
        assert (state.status, statuses(state)) == ("cancelled", ["cancelled", "waiting"])
        assert state.steps[0].text == "one"
        stubborn.release.set()
        await asyncio.sleep(1)
        assert events[-1].seq == len(events) - 1

    assert GRACE_SECONDS < 1
    in_simulated_time(cancelled())


async def test_a_run_that_is_stopped_before_it_starts_asks_no_one() -> None:
    alpha = SimulatedWorker(name="alpha")
    run = run_of(DIAMOND, Pool(workers=(alpha,)))
    run.cancel()
    state = fold(await events_of(run))
    assert (state.status, alpha.requests) == ("cancelled", [])


async def test_stopping_a_finished_run_changes_nothing() -> None:
    run = run_of(workflow_of(()), pool_of())
    assert fold(await events_of(run)).status == "finished"
    run.cancel()
    await asyncio.sleep(0)


async def test_closing_the_stream_of_events_stops_the_workers() -> None:
    gated = Gated()
    run = run_of(workflow_of(()), Pool(workers=(gated,)))
    stream = run.events()
    await anext(stream)
    await settled(gated, "task 1")
    await stream.aclose()  # type: ignore[attr-defined]
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), GRACE_SECONDS)


# -- reuse -------------------------------------------------------------------------------------------


async def test_a_known_output_is_reused_without_a_call() -> None:
    alpha = SimulatedWorker(name="alpha")
    pool = Pool(workers=(alpha,))
    first = await played(DIAMOND, pool)
    alpha.requests.clear()
    events = await events_of(run_of(DIAMOND, pool, outputs=outputs_of(first)))
    second = fold(events)
    assert alpha.requests == []
    assert all(step.reused for step in second.steps)
    assert [step.request for step in second.steps] == [step.request for step in first.steps]
    assert second.answer == first.answer
    assert second.usage.total == 0
    assert [type(event) for event in events] == [RunStarted, *[StepReused] * 4, RunFinished]


@pytest.mark.slow
async def test_a_hundred_known_steps_are_reused_at_once() -> None:
    workflow = workflow_of(*(range(i) for i in range(100)))
    pool = pool_of(tokens=1)
    first = await played(workflow, pool)
    second = await played(workflow, pool, outputs=outputs_of(first))
    assert all(step.reused for step in second.steps)


@pytest.mark.parametrize(
    ("style", "reused"),
    [("ours", [True, False, True, False]), ("moa", [True, False, True, True])],
)
async def test_a_step_is_reused_behind_an_edit_only_where_it_is_shown_nothing_of_it(
    style: RequestStyle, reused: list[bool]
) -> None:
    pool = pool_of(answer="always the same")
    workflow = Workflow.of(step.model_copy(update={"prompt_style": style}) for step in DIAMOND.steps)
    first = await played(workflow, pool)
    second = await played(
        workflow.with_instruction(1, "task 2, said otherwise"), pool, outputs=outputs_of(first)
    )
    assert [step.reused for step in second.steps] == reused


async def test_another_query_reuses_nothing() -> None:
    pool = pool_of()
    first = await played(DIAMOND, pool)
    second = await played(DIAMOND, pool, query="how?", outputs=outputs_of(first))
    assert not any(step.reused for step in second.steps)


async def test_a_worker_that_declines_ends_its_step_refused_and_its_words_are_read() -> None:
    pair = workflow_of((), (0,)).with_worker(1, "beta")
    pool = Pool(workers=(Declining(), reader := Declining("beta")))
    state = await played(pair, pool)
    assert statuses(state) == ["refused", "refused"]
    assert (state.status, state.answer, state.answered) == ("finished", "I cannot.", False)
    assert [seen.response for seen in reader.requests[0].seen] == ["I cannot."]
    again = await played(pair, pool, outputs=outputs_of(state))
    assert (statuses(again), again.answered) == (["refused", "refused"], False)
    assert len(reader.requests) == 1, "a refusal is reused as any other output"


async def test_an_answer_that_read_a_refusal_is_an_answer() -> None:
    pair = workflow_of((), (0,)).with_worker(1, "beta")
    pool = Pool(workers=(Declining(), SimulatedWorker(name="beta", answer="Paris")))
    state = await played(pair, pool)
    assert (statuses(state), state.answer, state.answered) == (["refused", "finished"], "Paris", True)


async def test_a_run_to_a_step_that_declines_is_not_answered() -> None:
    pair = workflow_of((), (0,)).with_worker(1, "beta")
    pool = Pool(workers=(Declining(), SimulatedWorker(name="beta", answer="Paris")))
    state = await played(pair, pool, scope=RunScope(kind="to", step=0))
    assert (state.status, state.answer, state.answered) == ("finished", None, False)
