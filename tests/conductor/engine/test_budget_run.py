"""A budget holds: calls without room are refused, answers are cut at the limit, finished outputs are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import WorkerError
from conductor.runs.events import BudgetExceeded, Event, StepStarted
from conductor.runs.state import RunState, fold
from conductor.values.budget import Budget, Used
from conductor.values.messages import Completion, Delta, Request, Retried, Usage
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, StreamItem
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.simulated_time import in_simulated_time, now
from tests.support.runs.worker_cases import Scripted
from tests.support.runs.workflow_cases import workflow_of

FAST = SimulatedWorker(name="alpha", answer="one two three")
CARD = FAST.card


def tokens_of(text: str) -> int:
    """As the simulated worker counts them."""
    return text.count(" ") + 1


def run(workflow: Workflow, budget: Budget, *workers: SimulatedWorker) -> tuple[RunState, list[Event]]:
    """The run's state and events, in simulated time."""
    pool = Pool(workers=workers or (FAST,))

    async def events() -> list[Event]:
        bound = BoundWorkflow.of(workflow, query="why?", pool=pool)
        going = WorkflowRun(bound, pool, run="r", meter=Meter(budget, clock=now))
        return [event async for event in going.events()]

    seen = in_simulated_time(events())
    return fold(seen), seen


def test_a_call_whose_prompt_cannot_fit_is_not_made() -> None:
    worker = SimulatedWorker(name="alpha")
    state, _ = run(workflow_of(()), Budget(tokens=1), worker)
    assert (state.status, worker.requests) == ("over_budget", [])
    assert state.crossing is not None
    assert state.crossing.words.startswith("0 of 1 tokens used, and the next call takes at least about ")


def test_a_long_answer_is_cut_where_its_text_reaches_the_limit() -> None:
    worker = SimulatedWorker(name="alpha", tokens=400, tokens_per_second=5000)
    state, events = run(workflow_of(()), Budget(tokens=200), worker)
    (step,) = state.steps
    assert (state.status, step.status) == ("over_budget", "cancelled")
    (start,) = (event for event in events if isinstance(event, StepStarted))
    prompt = sum(tokens_of(message.content) for message in start.request.messages)
    # The limit, and the one word that crossed it; two messages are counted as one text.
    assert 200 <= prompt + tokens_of(step.text) <= 203
    assert state.crossing is not None
    assert state.crossing.estimated


def test_answers_that_come_at_once_share_the_limit() -> None:
    worker = SimulatedWorker(name="alpha", tokens=400, tokens_per_second=5000)
    state, events = run(workflow_of((), (), (0, 1)), Budget(tokens=300), worker)
    assert [step.status for step in state.steps] == ["cancelled", "cancelled", "waiting"]
    starts = [event for event in events if isinstance(event, StepStarted)]
    prompts = sum(tokens_of(message.content) for event in starts for message in event.request.messages)
    assert 299 <= prompts + sum(tokens_of(step.text) for step in state.steps) <= 303


def test_an_answer_that_crosses_the_limit_at_the_end_is_an_answer() -> None:
    talker = SimulatedWorker(name="alpha", answer="word " * 400)
    state, events = run(workflow_of(()), Budget(tokens=200), talker)
    assert (state.status, state.answer) == ("finished", "word " * 400)
    (over,) = (event for event in events if isinstance(event, BudgetExceeded))
    assert not over.stopped


async def test_a_budget_that_planning_has_used_up_is_called_the_reason() -> None:
    pool = Pool(workers=(FAST,))
    meter = Meter(Budget(tokens=10))
    meter.count_earlier(Used(tokens=11, calls=1))
    bound = BoundWorkflow.of(workflow_of(()), query="why?", pool=pool)
    state = fold([event async for event in WorkflowRun(bound, pool, run="r", meter=meter).events()])
    assert (state.status, state.steps[0].status) == ("over_budget", "waiting")
    assert state.crossing is not None
    assert (state.crossing.limit, state.crossing.used) == ("tokens", 11)


# -- tries and fallbacks are calls, each by the card of the worker that gets it -----------------------


class Called(SimulatedWorker):
    """Counts what it is sent; `down`: it fails."""

    def __init__(self, name: str, *, down: bool = False, **card: Any) -> None:
        super().__init__(name=name, answer="word " * 400)
        self.down = down
        self.card = self.card.model_copy(update=card)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        if self.down:
            raise WorkerError(f"{self.name} is down.")
        for _ in range(400):
            yield Delta("word ")
        usage = Usage(prompt_tokens=100, completion_tokens=1600, cost=1.7)
        yield Completion("word " * 400, usage=usage)


DEAR = Price(prompt=1000, completion=1000)
BY_RULE = OnFailure(retries=0, fallback="dear")
LIMITS: dict[str, tuple[Budget, dict[str, Any], int]] = {
    "dollars that no call of it fits into": (Budget(cost=0.001), {}, 0),
    "tokens that its answer crosses": (Budget(tokens=200), {}, 1),
    "tokens, behind a built-in expert": (Budget(tokens=200), {"kind": "offline"}, 1),
    "one call": (Budget(calls=1), {}, 0),
    "one call, which the Conductor inside did not make": (Budget(calls=1), {"nested": True}, 1),
}


@pytest.mark.parametrize("by", ["the step's rule", "the pool"])
@pytest.mark.parametrize(("budget", "own", "calls"), LIMITS.values(), ids=LIMITS)
def test_a_fallback_is_held_to_the_budget_by_its_own_card(
    by: str, budget: Budget, own: dict[str, Any], calls: int
) -> None:
    first, dear = Called("alpha", down=True, **own), Called("dear", price=DEAR)
    workflow, workers = workflow_of((), (0,)), [first, dear]
    if by == "the pool":
        workers = [FallbackWorker(first, dear), dear]
    else:
        workflow = workflow.with_on_failure(0, BY_RULE).with_on_failure(1, BY_RULE)
    state, _ = run(workflow, budget, *workers)
    assert state.status == "over_budget"
    assert (len(first.requests), len(dear.requests)) == (1 + bool(own.get("nested")), calls)


@pytest.mark.parametrize(("allowed", "tries"), [(1, 1), (3, 3), (9, 4)])
def test_each_try_of_a_rule_is_a_call(allowed: int, tries: int) -> None:
    worker = Called("alpha", down=True)
    rule = OnFailure(retries=3, pause=0)
    state, _ = run(workflow_of(()).with_on_failure(0, rule), Budget(calls=allowed), worker)
    assert len(worker.requests) == tries
    assert state.status == ("over_budget" if allowed < 4 else "failed")
    assert "The budget has no room for another call" in (state.steps[0].message or "") or allowed > 4


# -- a call is a request that a worker got ------------------------------------------------------------


class Falling(Called):
    """Gives no answer; `again`: its endpoint is called that often before."""

    def __init__(self, name: str, *, again: int = 0) -> None:
        super().__init__(name, down=True)
        self.again = again

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        for attempt in range(self.again):
            self.requests.append(request)
            yield Retried(attempt=attempt + 1, message="Busy.", seconds=0)
        async for item in super().stream(request):
            yield item


def called(
    rule: OnFailure | None, *, by_pool: bool = False, again: int = 0
) -> tuple[RunState, Meter, list[int]]:
    """A run of one step of alpha, behind which beta fails, too, and gamma answers; the calls of each."""
    alpha, beta, gamma = Falling("alpha", again=again), Falling("beta"), Called("gamma")
    first = FallbackWorker(alpha, FallbackWorker(beta, gamma)) if by_pool else alpha
    pool = Pool(workers=(first, FallbackWorker(beta, gamma), gamma))
    workflow = workflow_of(()).with_on_failure(0, rule)

    async def ran() -> tuple[RunState, Meter]:
        meter = Meter(Budget(tokens=100_000))
        bound = BoundWorkflow.of(workflow, query="why?", pool=pool)
        going = WorkflowRun(bound, pool, run="r", meter=meter)
        return fold([event async for event in going.events()]), meter

    return *in_simulated_time(ran()), [len(worker.requests) for worker in (alpha, beta, gamma)]


CALLS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "the step's worker": ({"rule": None}, [1, 0, 0]),
    "tries of its endpoint": ({"rule": None, "again": 2}, [3, 0, 0]),
    "tries of its rule": ({"rule": OnFailure(retries=2, pause=0)}, [3, 0, 0]),
    "both": ({"rule": OnFailure(retries=2, pause=0), "again": 1}, [6, 0, 0]),
    "fallbacks of the pool": ({"rule": None, "by_pool": True}, [1, 1, 1]),
    "fallbacks of the pool, after the tries": (
        {"rule": OnFailure(retries=1, pause=0), "by_pool": True},
        [2, 1, 1],
    ),
    "the rule's fallback and the one behind it": ({"rule": OnFailure(fallback="beta")}, [1, 1, 1]),
    "a text": ({"rule": OnFailure(retries=1, pause=0, output="red")}, [2, 0, 0]),
}


@pytest.mark.parametrize(("setup", "calls"), CALLS.values(), ids=CALLS)
def test_a_call_is_a_request_that_a_worker_got(setup: dict[str, Any], calls: list[int]) -> None:
    state, meter, requests = called(**setup)
    assert requests == calls
    assert (state.calls, meter.calls) == (sum(calls), sum(calls))


def test_a_worker_that_answers_when_it_is_called_again_is_not_in_anothers_place() -> None:
    alpha = Scripted([])
    scripts = iter([[WorkerError("Busy.")], [Completion("green")]])
    alpha.stream = lambda request: Scripted(next(scripts)).stream(request)  # type: ignore[method-assign]
    beta = Called("beta")
    workflow = workflow_of(()).with_on_failure(0, OnFailure(retries=1, pause=0))
    state, _ = run(workflow, Budget(), FallbackWorker(alpha, beta), beta)  # type: ignore[arg-type]
    output = state.steps[0].output
    assert output is not None
    assert (output.worker, output.instead_of, state.steps[0].stand_in) == ("alpha", None, None)
    assert beta.requests == []


def test_a_text_in_the_place_of_an_answer_costs_nothing() -> None:
    state, meter, _ = called(OnFailure(output="word " * 1000))
    assert state.status == "finished"
    assert meter.used.tokens == 0


@pytest.mark.parametrize("rule", [OnFailure(retries=1, pause=1), OnFailure(fallback="beta")])
def test_a_further_request_without_room_stops_no_other_call(rule: OnFailure) -> None:
    """What was written before it counts once, and the request that is refused not at all."""
    words = "word " * 100
    alpha = Scripted([Delta(words), WorkerError("Broke.")])
    beta = Scripted([10.0, Completion("blue", usage=Usage(prompt_tokens=1, completion_tokens=1))], "beta")
    workflow = workflow_of((), (), (0, 1)).with_worker(1, "beta").with_on_failure(0, rule)
    state, _ = run(workflow, Budget(tokens=220), alpha, beta)  # type: ignore[arg-type]
    assert "The budget has no room for another call" in (state.steps[0].message or "")
    assert [step.status for step in state.steps] == ["failed", "finished", "blocked"]
