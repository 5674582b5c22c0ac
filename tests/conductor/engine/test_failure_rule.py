"""A step's rule for failures: the worker is called again, its fallback, or a text takes its place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.engine.schedule import blast_radius
from conductor.errors import WorkerError, WorkflowError
from conductor.runs.events import StepStarted
from conductor.runs.state import fold
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.values.output import StandIn
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import StreamItem, Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.worker_cases import Raising, Scripted, Silent, events_of, outputs_of, played, run_of
from tests.support.runs.workflow_cases import workflow_of

CHAIN = workflow_of((), (0,))
GONE = WorkerError("Gone.")
BY_BETA = StandIn(reason="Gone.", fallback="beta")
USED = Usage(prompt_tokens=2, completion_tokens=1)


def pool_of(alpha: Worker, *others: Worker) -> Pool:
    return Pool(workers=(alpha, *(others or (SimulatedWorker(name="beta", answer="blue"),))))


def ruled(rule: OnFailure, *, workflow: Workflow = CHAIN, step: int = 0) -> Workflow:
    """The workflow whose other steps are beta's."""
    for other in range(len(workflow)):
        if other != step:
            workflow = workflow.with_worker(other, "beta")
    return workflow.with_on_failure(step, rule)


@dataclass
class Turns:
    """A worker whose n-th call is answered by the n-th script, later ones by the last."""

    scripts: tuple[tuple[StreamItem | Exception, ...], ...]
    calls: int = 0

    def worker(self) -> Scripted:
        turns = self

        class _Turns(Scripted):
            async def stream(self, request: Request) -> object:
                script = turns.scripts[min(turns.calls, len(turns.scripts) - 1)]
                turns.calls += 1
                async for item in Scripted(list(script)).stream(request):
                    yield item

        return _Turns([])


FAILS = (Delta("gre"), GONE)
ANSWERS = (Delta("green"), Completion("green", usage=USED))


@pytest.mark.parametrize(
    ("turns", "rule", "calls", "text", "stand_in"),
    [
        ((FAILS, ANSWERS), OnFailure(retries=1, pause=0), 2, "green", None),
        ((FAILS, FAILS, ANSWERS), OnFailure(retries=3, pause=0), 3, "green", None),
        ((FAILS,), OnFailure(fallback="beta"), 1, "blue", BY_BETA),
        (
            (FAILS,),
            OnFailure(retries=2, pause=0, fallback="beta"),
            3,
            "blue",
            StandIn(reason="Gone.", fallback="beta"),
        ),
        ((FAILS,), OnFailure(output="red"), 1, "red", StandIn(reason="Gone.", text=True)),
        ((FAILS,), OnFailure(retries=1, pause=0, output=""), 2, "", StandIn(reason="Gone.", text=True)),
        ((ANSWERS,), OnFailure(retries=1, fallback="beta", output="red"), 1, "green", None),
    ],
)
async def test_a_rule_gives_the_output(
    turns: tuple[tuple[StreamItem | Exception, ...], ...],
    rule: OnFailure,
    calls: int,
    text: str,
    stand_in: StandIn | None,
) -> None:
    alpha = Turns(turns)
    state = await played(ruled(rule), pool_of(alpha.worker()))
    output = state.steps[0].output
    assert output is not None
    assert (state.status, alpha.calls, output.text, output.stand_in) == ("finished", calls, text, stand_in)
    assert (output.hand is not None) == (stand_in is not None and stand_in.text)
    assert output.instead_of == ("alpha" if output.worker == "beta" else None)
    assert state.steps[0].text == text


async def test_without_an_answer_left_the_step_fails_with_both_reasons() -> None:
    rule = OnFailure(retries=1, pause=0, fallback="gamma")
    beta, gamma = SimulatedWorker(name="beta"), Raising(WorkerError("Down."), name="gamma")
    state = await played(ruled(rule), pool_of(Turns((FAILS,)).worker(), beta, gamma))
    assert state.steps[0].message == "Gone. Its fallback gamma failed, too: Down."
    assert [step.status for step in state.steps] == ["failed", "blocked"]


@pytest.mark.parametrize("worker", [Silent(), Raising(ZeroDivisionError("key sk-123"))])
async def test_a_rule_holds_for_every_way_to_give_no_answer(worker: Worker) -> None:
    state = await played(ruled(OnFailure(output="red")), pool_of(worker))
    assert state.steps[0].output is not None
    assert state.steps[0].output.text == "red"
    assert "sk-123" not in (state.steps[0].failure or "")


async def test_who_reads_the_text_is_informed_that_a_person_wrote_it_and_nothing_of_an_empty_one() -> None:
    for text, is_seen in (("red", True), ("", False)):
        events = await events_of(run_of(ruled(OnFailure(output=text)), pool_of(Raising(GONE))))
        sent = next(event.request for event in events if isinstance(event, StepStarted) and event.step == 1)
        seen = "".join(part.text for part in sent.messages[0].parts)
        assert ('edited="by hand"' in seen, "red" in seen) == (is_seen, is_seen)


# -- what a rerun does -----------------------------------------------------------------------------


async def test_an_output_of_a_rule_that_keeps_it_is_reused_as_long_as_the_rule_gives_it() -> None:
    alpha = Turns((FAILS, ANSWERS))
    pool = pool_of(alpha.worker())
    workflow = ruled(OnFailure(output="red", keep=True))
    first = await played(workflow, pool)
    outputs = outputs_of(first)
    again = await played(workflow.with_instruction(1, "Say more."), pool, outputs=outputs)
    assert (again.steps[0].reused, alpha.calls) == (True, 1)
    for rule in (
        None,
        OnFailure(output="red"),
        OnFailure(output="blue", keep=True),
        OnFailure(fallback="beta", output="red", keep=True),
    ):
        changed = workflow.with_on_failure(0, rule)
        radius = blast_radius(workflow, BoundWorkflow.of(changed, query="q", pool=pool), outputs)
        assert (0 in radius.runs, radius.edited) == (True, frozenset())
    called = await played(workflow.with_on_failure(0, None), pool, outputs=outputs)
    assert (called.steps[0].text, alpha.calls) == ("green", 2)


async def test_a_rule_that_was_not_needed_changes_no_output() -> None:
    pool = pool_of(Turns((ANSWERS,)).worker())
    plain = ruled(OnFailure())
    first = await played(plain, pool)
    changed = plain.with_on_failure(0, OnFailure(fallback="beta"))
    assert first.is_run_of(changed)
    again = await played(changed, pool, outputs=outputs_of(first))
    assert [step.reused for step in again.steps] == [True, True]


async def test_a_run_that_needed_its_rule_is_no_run_of_another_rule() -> None:
    workflow = ruled(OnFailure(output="red"))
    first = await played(workflow, pool_of(Raising(GONE)))
    assert not first.is_run_of(workflow.with_on_failure(0, OnFailure(output="blue")))
    assert first.is_run_of(workflow)


async def test_a_stopped_run_applies_no_rule() -> None:
    rule = OnFailure(retries=5, pause=600)
    run = run_of(ruled(rule), pool_of(Raising(GONE)))
    events = []
    async for event in run.events():
        events.append(event)
        if event.type == "step_retried":
            run.cancel()
    assert fold(events).steps[0].status == "cancelled"


async def test_a_text_that_was_sent_on_is_not_replaced() -> None:
    workflow = ruled(OnFailure(output="red"), step=1)
    pool = pool_of(Turns((FAILS,)).worker())
    bound = BoundWorkflow.of(workflow, query="why?", pool=pool)
    state = fold(await events_of(WorkflowRun(bound, pool, run="r", sent_on=True)))
    assert state.steps[1].status == "failed"
    assert "was sent on" in (state.steps[1].message or "")


# -- the rule itself -------------------------------------------------------------------------------


def test_a_rule_that_does_nothing_is_none() -> None:
    assert CHAIN.with_on_failure(0, OnFailure()) == CHAIN


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (OnFailure(), "the step fails"),
        (OnFailure(retries=1), "1 more call"),
        (
            OnFailure(retries=2, fallback="beta", output="x"),
            "2 more calls, then beta answers in its place, then a text takes its place",
        ),
        (OnFailure(output=" "), "the step is skipped"),
    ],
)
def test_a_rule_has_words(rule: OnFailure, words: str) -> None:
    assert rule.words == words


def test_a_step_cannot_be_its_own_fallback_nor_fall_back_on_a_worker_that_is_not_there() -> None:
    with pytest.raises(WorkflowError, match="has its own worker 'alpha' as its fallback"):
        CHAIN.with_on_failure(0, OnFailure(fallback="alpha"))
    with pytest.raises(WorkflowError, match="has the fallback 'omega', which the pool does not have"):
        CHAIN.with_on_failure(0, OnFailure(fallback="omega")).check_workers(["alpha", "beta"])


def test_a_step_that_is_given_to_its_fallback_loses_that_and_keeps_the_rest() -> None:
    workflow = CHAIN.with_on_failure(0, OnFailure(retries=1, fallback="beta"))
    assert workflow.with_worker(0, "beta").steps[0].on_failure == OnFailure(retries=1)
    assert workflow.with_worker(0, "gamma").steps[0].on_failure == OnFailure(retries=1, fallback="beta")
    alone = CHAIN.with_on_failure(0, OnFailure(fallback="beta"))
    assert alone.with_worker(0, "beta").steps[0].on_failure is None
