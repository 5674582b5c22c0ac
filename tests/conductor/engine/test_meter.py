"""A meter counts calls by estimate before they are made, by their usage after, and refuses without room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.engine.meter import LEAST_COMPLETION, Meter, Reservation
from conductor.values.budget import NO_BUDGET, Allowance, Budget, Crossing, Used
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from conductor.workers.protocol import Price, WorkerCard


def card(kind: WorkerKind = "model", price: Price | None = None) -> WorkerCard:
    return WorkerCard(name="a", kind=kind, strengths="tests", model="m", price=price)


def admitted(meter: Meter, called: WorkerCard | None = None, prompt: str = "") -> Reservation | None:
    return meter.admit(called or card("offline"), lambda: [prompt], purpose="step")


def spend(meter: Meter, usage: Usage) -> None:
    meter.count(Charge(worker="a", kind="model", purpose="step", usage=usage))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_budget_nothing_is_ever_crossed() -> None:
    meter = Meter(Budget())
    for _ in range(1000):
        spend(meter, Usage(prompt_tokens=10**9, completion_tokens=10**9, cost=1e9))
    assert meter.crossing is None


@pytest.mark.parametrize(
    ("budget", "usage", "crossing"),
    [
        (
            Budget(tokens=10),
            Usage(prompt_tokens=8, completion_tokens=3),
            Crossing(limit="tokens", used=11, allowed=10),
        ),
        (Budget(cost=0.5), Usage(cost=0.75), Crossing(limit="cost", used=0.75, allowed=0.5)),
    ],
)
def test_a_call_that_used_too_much_crosses_the_limit(
    budget: Budget, usage: Usage, crossing: Crossing
) -> None:
    meter, crossings = Meter(budget), list[Crossing]()
    meter.watch(crossings.append)
    spend(meter, usage)
    assert crossings == [crossing]
    assert not admitted(meter)


def test_a_call_for_which_no_room_is_left_is_not_admitted() -> None:
    meter, crossings = Meter(Budget(calls=2)), list[Crossing]()
    meter.watch(crossings.append)
    assert [admitted(meter) is not None for _ in range(4)] == [True, True, False, False]
    assert (meter.calls, meter.crossing) == (2, Crossing(limit="calls", used=2, allowed=2, refused=True))
    assert crossings == []


def test_exactly_the_limit_is_not_too_much_but_leaves_no_room() -> None:
    meter = Meter(Budget(tokens=10))
    spend(meter, Usage(prompt_tokens=10, completion_tokens=0))
    assert meter.crossing is None
    assert not admitted(meter)


@pytest.mark.parametrize(
    ("kind", "prompt", "needs"),
    [
        ("model", "x" * 400, 100 + LEAST_COMPLETION),
        ("model", "日本語", 3 + LEAST_COMPLETION),
        ("simulated", "one two three", 3 + LEAST_COMPLETION),
        ("offline", "x" * 400, 0),
    ],
)
def test_a_call_takes_its_prompt_and_a_short_answer_before_it_is_made(
    kind: WorkerKind, prompt: str, needs: int
) -> None:
    meter = Meter(Budget(tokens=10_000))
    assert admitted(meter, card(kind), prompt) is not None
    assert meter.used.tokens == needs


def test_a_call_whose_prompt_alone_is_too_much_is_refused_with_what_it_needs() -> None:
    meter = Meter(Budget(tokens=100))
    assert admitted(meter, card(), "x" * 400) is None
    assert meter.crossing == Crossing(
        limit="tokens", used=0, allowed=100, needed=100 + LEAST_COMPLETION, refused=True
    )
    assert meter.calls == 0


def test_dollars_are_estimated_by_the_workers_price() -> None:
    dear = card(price=Price(prompt=1000.0, completion=2000.0))
    meter = Meter(Budget(cost=0.2))
    assert admitted(meter, dear, "x" * 400) is not None
    assert meter.used.cost == pytest.approx(0.1 + LEAST_COMPLETION * 0.002)
    assert admitted(meter, dear, "x" * 400) is None
    assert meter.crossing is not None
    assert (meter.crossing.limit, meter.crossing.estimated) == ("cost", True)


def test_calls_under_way_reserve_together() -> None:
    meter = Meter(Budget(tokens=250))
    first, second = admitted(meter, card(), "x" * 400), admitted(meter, card(), "x" * 400)
    assert first is not None
    assert second is not None
    assert admitted(meter, card(), "x" * 40) is None


def test_an_answer_counts_while_it_comes_and_crosses_the_limit_with_the_piece_that_is_too_much() -> None:
    meter, crossings = Meter(Budget(tokens=150)), list[Crossing]()
    meter.watch(crossings.append)
    call = admitted(meter, card(), "x" * 400)
    assert call is not None
    for _ in range(50):
        call.receive("four")
    assert crossings == []
    call.receive("four")
    assert crossings == [Crossing(limit="tokens", used=151, allowed=150, estimated=True)]


def test_a_call_is_settled_by_its_usage_once() -> None:
    meter = Meter(Budget(tokens=1000))
    call = admitted(meter, card(), "x" * 400)
    assert call is not None
    call.receive("x" * 800)
    call.end(Usage(prompt_tokens=90, completion_tokens=10))
    call.end()
    assert meter.used.tokens == 100


@pytest.mark.parametrize(
    ("usage", "answer", "tokens"),
    [
        (Usage(), "x" * 80, 120),
        (Usage(prompt_tokens=70), "x" * 80, 90),
        (Usage(), "", 100),
    ],
    ids=["nothing known", "the prompt known", "an empty answer"],
)
def test_what_an_endpoint_does_not_count_is_estimated(usage: Usage, answer: str, tokens: int) -> None:
    meter = Meter(Budget(tokens=1000))
    call = admitted(meter, card(), "x" * 400)
    assert call is not None
    call.end(usage, answer=answer)
    assert meter.used.tokens == tokens


def test_a_call_that_broke_counts_with_what_had_come_and_not_at_all_before_the_first_word() -> None:
    meter = Meter(Budget(tokens=1000))
    silent, broken = admitted(meter, card(), "x" * 400), admitted(meter, card(), "x" * 400)
    assert silent is not None
    assert broken is not None
    broken.receive("x" * 40)
    silent.end()
    broken.end()
    assert meter.used.tokens == 110


def test_a_refusal_stops_no_one_and_using_too_much_after_it_does() -> None:
    meter, crossings = Meter(Budget(tokens=200)), list[Crossing]()
    meter.watch(crossings.append)
    going = admitted(meter, card(), "x" * 400)
    assert admitted(meter, card(), "x" * 400) is None
    assert crossings == []
    assert going is not None
    going.receive("x" * 404)
    assert [crossing.refused for crossing in crossings] == [False]


def test_a_call_made_before_counts_with_its_time() -> None:
    clock = Clock()
    meter = Meter(Budget(tokens=1000, seconds=10), clock=clock)
    meter.count_earlier(Used(tokens=110, calls=1, seconds=4.0))
    used = meter.used
    assert (used.tokens, used.calls, used.seconds) == (110, 1, 4.0)


def test_without_a_limit_of_tokens_or_dollars_nothing_is_estimated() -> None:
    meter = Meter(Budget(calls=2))

    def texts() -> Iterator[str]:
        raise AssertionError("a prompt was read for nothing")
        yield ""

    call = meter.admit(card(), texts, purpose="step")
    assert call is not None
    call.end(Usage(prompt_tokens=1, completion_tokens=2))
    assert meter.used.tokens == 3


def test_time_counts_from_the_making() -> None:
    clock = Clock()
    meter, crossings = Meter(Budget(seconds=5), clock=clock), list[Crossing]()
    clock.now = 4.0
    meter.check()
    assert (meter.seconds_left, crossings) == (1.0, [])
    unwatch = meter.watch(crossings.append)
    clock.now = 5.0
    meter.check()
    assert (meter.seconds_left, crossings) == (0.0, [Crossing(limit="seconds", used=5.0, allowed=5.0)])
    unwatch()


def test_a_budget_is_open_until_any_of_it_is_limited() -> None:
    assert NO_BUDGET.open
    assert not any(Budget.model_validate({name: 1}).open for name in Budget.model_fields)


def test_an_allowance_counts_what_was_used_before_it_and_since_but_nothing_twice() -> None:
    meter = Meter(Budget(tokens=1_000))
    meter.count_earlier(Used(tokens=400, calls=1))
    meter.allow(Allowance(budget=Budget(tokens=900), used=Used(tokens=850), of="Ada's"))
    spend(meter, Usage(prompt_tokens=40, completion_tokens=10))
    assert meter.crossing is None
    spend(meter, Usage(prompt_tokens=1, completion_tokens=0))
    assert meter.crossing == Crossing(limit="tokens", used=901, allowed=900, of="Ada's")
    assert meter.crossing.words == "901 of 900 tokens used (Ada's)"
    assert (meter.used.tokens, meter.charged_tokens) == (451, 51)


def test_a_call_without_room_in_an_allowance_is_refused_and_the_runs_own_limit_is_named_first() -> None:
    for own, of in ((None, "Ada's"), (5, None)):
        meter = Meter(Budget(tokens=own))
        meter.allow(Allowance(budget=Budget(tokens=900), used=Used(tokens=890), of="Ada's"))
        assert admitted(meter, card(), "word " * 20) is None
        assert meter.crossing is not None
        assert (meter.crossing.of, meter.crossing.refused) == (of, True)
