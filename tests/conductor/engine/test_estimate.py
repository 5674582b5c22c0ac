"""What a run will take is judged by what was seen, else by its texts, and openly where it is assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import pytest

from conductor.engine import estimate as estimates
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import ANSWER_TOKENS, Estimate, together
from conductor.values.messages import Sampling, Usage
from conductor.values.output import HandEdit, Output, WorkerKind
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from conductor.workflow.on_failure import OnFailure
from tests.support.runs.workflow_cases import workflow_of

DIAMOND = workflow_of((), (0,), (0,), (1, 2))


POOL = Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="beta")))
NESTED = {name: card.model_copy(update={"nested": True}) for name, card in POOL.cards.items()}


def estimate(
    workflow: Workflow,
    runs: Collection[int],
    history: Iterable[Output],
    cards: Mapping[str, WorkerCard] = NESTED,
    outputs: Mapping[int, Output] | None = None,
) -> Estimate:
    """Of workers about whose calls nothing is assumed, unless other cards are given."""
    bound = BoundWorkflow.of(workflow, query="why?", pool=POOL)
    return estimates.estimate(bound, runs, history, cards=cards, outputs=outputs)


def cards(kind: WorkerKind = "model", price: Price | None = None) -> dict[str, WorkerCard]:
    sampling = Sampling()
    return {
        name: WorkerCard(name=name, kind=kind, strengths="", model="m", price=price, sampling=sampling)
        for name in POOL.names
    }


def output_of(
    step: int, *, tokens: int | None, seconds: float = 1.0, cost: float | None = None, worker: str = "alpha"
) -> Output:
    usage = Usage(prompt_tokens=0 if tokens is not None else None, completion_tokens=tokens, cost=cost)
    return Output(
        fingerprint=f"{step}-{tokens}-{seconds}",
        text="said",
        worker=worker,
        worker_kind="model",
        usage=usage,
        seconds=seconds,
        run="r",
        step=step,
    )


HISTORY = (
    output_of(0, tokens=10, seconds=1, cost=0.1),
    output_of(1, tokens=20, seconds=2, cost=0.2),
    output_of(1, tokens=40, seconds=4, cost=0.4),
    output_of(2, tokens=70, seconds=7, cost=0.7),
)


@pytest.mark.parametrize(
    ("runs", "takes"),
    [
        ((), Estimate(calls=0, tokens=0, cost=0.0, seconds=0.0)),
        ((0,), Estimate(calls=1, tokens=10, cost=0.1, seconds=1)),
        ((1,), Estimate(calls=1, tokens=30, cost=pytest.approx(0.3), seconds=3)),  # type: ignore[arg-type]
        ((0, 1, 2), Estimate(calls=3, tokens=110, cost=pytest.approx(1.1), seconds=8)),  # type: ignore[arg-type]
    ],
)
def test_a_step_takes_what_its_worker_took_at_its_place(runs: tuple[int, ...], takes: Estimate) -> None:
    assert estimate(DIAMOND, runs, HISTORY) == replace(takes, at_least=bool(runs))


def test_a_step_that_never_ran_takes_what_its_worker_took_elsewhere() -> None:
    assert estimate(DIAMOND, (3,), HISTORY).tokens == 30
    assert estimate(DIAMOND, (3,), HISTORY).seconds == 3


@pytest.mark.parametrize(
    ("history", "takes"),
    [
        ((), Estimate(calls=1, tokens=None, cost=None, seconds=None)),
        ((output_of(0, tokens=9, worker="beta"),), Estimate(calls=1, tokens=None, cost=None, seconds=None)),
        ((output_of(0, tokens=None, seconds=2),), Estimate(calls=1, tokens=None, cost=None, seconds=2)),
        (
            (output_of(0, tokens=9).by_hand("mine", edit=HandEdit(at=1)),),
            Estimate(calls=1, tokens=None, cost=None, seconds=None),
        ),
    ],
    ids=["nothing seen", "another worker", "tokens unknown", "by hand"],
)
def test_what_was_never_seen_is_unknown(history: tuple[Output, ...], takes: Estimate) -> None:
    assert estimate(DIAMOND, (0,), history) == replace(takes, at_least=True)
    assert takes.is_known == (takes.seconds is not None)


@pytest.mark.parametrize(
    ("rule", "card", "more"),
    [
        (None, {}, False),
        (OnFailure(output="nothing"), {}, False),
        (OnFailure(retries=1), {}, True),
        (OnFailure(fallback="beta"), {}, True),
        (None, {"fallback": "beta"}, True),
        (None, {"nested": True}, True),
    ],
    ids=["plain", "a text", "retries", "a rule's fallback", "a worker's fallback", "a Conductor"],
)
def test_calls_that_may_become_several_are_a_lower_bound(
    rule: OnFailure | None, card: dict[str, object], more: bool
) -> None:
    own = {name: each.model_copy(update=card) for name, each in cards().items()}
    takes = estimate(DIAMOND.with_on_failure(0, rule), (0,), (), own)
    assert (takes.at_least, "at least 1 call" in takes.words) == (more, more)
    assert together([takes, replace(takes, at_least=False)], at_once=1).at_least == more


def test_what_a_fallback_gave_is_what_a_step_of_its_worker_took() -> None:
    dear = output_of(0, tokens=200, cost=0.2, worker="beta")
    instead = dear.model_copy(update={"instead_of": "alpha"})
    takes = estimate(DIAMOND, (0,), (instead,), cards())
    assert (takes.tokens, takes.cost) == (200, 0.2)
    assert estimate(DIAMOND.with_worker(0, "beta"), (0,), (instead,), cards()).assumed


def test_one_unknown_call_makes_the_sum_unknown() -> None:
    takes = estimate(DIAMOND.with_worker(2, "beta"), (1, 2), HISTORY)
    assert (takes.tokens, takes.cost, takes.seconds) == (None, None, None)


def test_a_first_run_is_judged_by_its_prompts_and_an_assumed_answer() -> None:
    takes = estimate(workflow_of(()), (0,), (), cards(price=Price(prompt=10.0, completion=100.0)))
    assert takes.assumed
    assert takes.tokens is not None
    prompt = takes.tokens - ANSWER_TOKENS
    assert 10 < prompt < 200
    assert takes.cost == pytest.approx((prompt * 10 + ANSWER_TOKENS * 100) / 1e6)
    assert takes.seconds == 9.0


def test_the_pace_of_a_simulated_worker_is_unknown_before_it_answered() -> None:
    takes = estimate(workflow_of(()), (0,), (), cards("simulated"))
    assert takes.tokens is not None
    assert takes.seconds is None
    seen = output_of(0, tokens=5, seconds=0.2)
    assert estimate(workflow_of(()), (0,), (seen,), cards("simulated")).seconds == 0.2


def test_an_answer_that_another_step_reads_is_in_its_prompt() -> None:
    alone = estimate(workflow_of(()), (0,), (), cards()).tokens
    pair = estimate(workflow_of((), (0,)), (0, 1), (), cards()).tokens
    assert alone is not None
    assert pair is not None
    assert pair - 2 * alone > 0.9 * ANSWER_TOKENS
    short = {0: output_of(0, tokens=1)}
    tokens = estimate(workflow_of((), (0,)), (1,), (), cards(), short).tokens
    assert tokens is not None
    assert tokens < pair - alone


def test_what_a_call_without_a_price_costs_is_unknown() -> None:
    takes = estimate(workflow_of(()), (0,), (), cards())
    assert (takes.cost, any("$" in word for word in takes.words)) == (None, False)
    assert takes.words[-1] == "assuming 400 tokens per answer"


def test_a_limit_of_the_answer_bounds_what_is_assumed() -> None:
    long = estimate(workflow_of(()), (0,), (), cards()).tokens
    short = estimate(workflow_of(()).with_sampling(0, Sampling(max_tokens=50)), (0,), (), cards()).tokens
    assert long is not None
    assert short == long - ANSWER_TOKENS + 50


def test_built_in_experts_take_no_tokens_and_nothing_is_stated_of_them_before_they_ran() -> None:
    takes = estimate(DIAMOND, (0, 1, 2, 3), (), cards("offline"))
    assert (takes.tokens, takes.cost, takes.words) == (0, 0.0, [])
    ran = [output_of(step, tokens=None, seconds=0.5) for step in range(4)]
    assert estimate(DIAMOND, (0, 1, 2, 3), ran, cards("offline")).words == ["~1.5 s"]


def test_several_runs_at_once_sum_up_but_for_their_time() -> None:
    one = Estimate(calls=2, tokens=100, cost=0.5, seconds=4.0)
    assert together([one] * 6, at_once=3) == Estimate(calls=12, tokens=600, cost=3.0, seconds=8.0)
    assert together([one, Estimate(1, None, None, None)], at_once=3).tokens is None
    assert together([one], at_once=6).seconds == 4.0
