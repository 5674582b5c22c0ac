from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor.learning.gauges import DEMONSTRATION, WINDOW, Alarm, CollapseWatch, Gauges, gauges_of
from conductor.learning.reward import Outcome

ONE = Outcome("right", steps=1, workers=("a",), tokens=100)
TWO = Outcome("wrong", steps=2, workers=("a", "b"), tokens=300)
NONE = Outcome("no plan")


def test_gauges_are_taken_from_what_they_speak_of():
    gauges = gauges_of([ONE, ONE, TWO, NONE, ONE, ONE], [1, 1, 0.5, 0, 1, 1], [2, 2, 3, 3, 1, 1], group=2)
    assert gauges.valid == pytest.approx(5 / 6)
    assert gauges.right == pytest.approx(4 / 6)
    assert gauges.steps == pytest.approx(6 / 5)
    assert gauges.one_step == pytest.approx(2 / 3)  # the last two questions need one step
    assert gauges.live == pytest.approx(1 / 3)
    assert gauges.tokens == pytest.approx(140)
    assert gauges.entropy == pytest.approx(0.65, abs=0.01)
    assert (gauges.one_worker, gauges.longest) == (0, 0)


def test_what_nothing_is_known_of_is_none():
    gauges = gauges_of([NONE, NONE], [0, 0], [None, 2], group=2)
    assert (gauges.steps, gauges.one_step, gauges.entropy, gauges.tokens) == (None, None, None, None)
    assert (gauges.one_worker, gauges.longest) == (None, None)
    assert gauges.row["steps"] is None


def test_chains_of_one_worker_and_plans_at_the_limit_are_counted():
    chain = Outcome("wrong", steps=2, workers=("a", "a"))
    whole = Outcome("wrong", steps=5, workers=("a", "b", "a", "b", "a"))
    assert gauges_of([chain, TWO, TWO, whole], [0.5] * 4, [2] * 4, group=2).one_worker == pytest.approx(1 / 4)
    assert gauges_of([chain, TWO, ONE, whole], [0.5] * 4, [2] * 4, group=2).longest == pytest.approx(1 / 4)
    assert gauges_of([chain] + [ONE] * 19, [0.5] * 20, [2] * 20, group=2).one_worker is None


def test_gauges_of_a_line_of_an_earlier_version_lack_what_it_did_not_measure():
    row = gauges_of([ONE, TWO], [1, 0.5], [2, 2], group=2).row
    assert Gauges.of_row({name: value for name, value in row.items() if name != "longest"}).longest is None


def gauges(one_step: float | None, *, valid: float = 1.0) -> Gauges:
    return Gauges(
        reward=0.5, valid=valid, right=0.5, steps=1.5, one_step=one_step, entropy=1.0, live=0.5, tokens=100
    )


HEALTHY = gauges(0.3)


@pytest.mark.parametrize(
    ("sick", "what"),
    [
        ({"one_step": 0.9}, "has become a router"),
        ({"valid": 0.2}, "of the plans are valid"),
        ({"one_worker": 0.95}, "call one worker in all of them"),
        ({"longest": 0.95}, "as many steps as a plan may have"),
        ({"live": 0.0}, "nothing is learnt"),
    ],
)
def test_each_collapse_is_noticed_once_and_again_after_a_recovery(sick: dict[str, float], what: str):
    watch, ill = CollapseWatch(), replace(HEALTHY, **sick)
    course = [HEALTHY] * 5 + [ill] * 9 + [HEALTHY] * 9 + [ill] * 9
    pairs = [(step, alarm) for step, each in enumerate(course, 1) if (alarm := watch.read(each)) is not None]
    assert [step <= 14 for step, _ in pairs] == [True, False]
    assert all(what in alarm.what for _, alarm in pairs)


@pytest.mark.parametrize("well", [{"live": 0.0, "right": 1.0}, {"one_worker": None, "longest": None}])
def test_what_is_no_collapse_gives_no_alarm(well: dict[str, float | None]):
    watch = CollapseWatch()
    assert [watch.read(replace(HEALTHY, **well)) for _ in range(9)] == [None] * 9  # type: ignore[arg-type]


def probe(right: float, one_step: float, entropy: float = 1.8) -> Gauges:
    return replace(HEALTHY, right=right, one_step=one_step, entropy=entropy)


@pytest.mark.parametrize(
    ("probes", "alarms"),
    [
        # A start of one step each that learns to take questions apart.
        ([probe(0.52, 0.98, 0.3), probe(0.62, 0.83), probe(0.71, 0.72), probe(0.93, 0.0)], []),
        (
            [probe(0.52, 0.98, 0.3), probe(0.5, 0.9), probe(0.5, 0.9)],
            [(3, "which are served, have one step")],
        ),
        # Chains that end with a worker that answers alone: neither one step nor a lower share of right ones.
        ([probe(0.56, 0.0), probe(0.53, 0.0, 0.0), probe(0.53, 0.0, 0.0)], [(3, "call the same worker")]),
        (
            [probe(0.9, 0.0), probe(0.75, 0.2), probe(0.9, 0.0), probe(0.7, 0.2)],
            [(2, "75% of the likeliest plans, which are served, are right, after 90%"), (4, "70%")],
        ),
        ([probe(0.9, 0.0), probe(0.85, 0.2), probe(0.9, 0.0)], []),
    ],
)
def test_the_likeliest_plans_are_watched(probes: list[Gauges], alarms: list[tuple[int, str]]):
    watch = CollapseWatch()
    pairs = [(at, alarm.what) for at, each in enumerate(probes, 1) if (alarm := watch.read_probe(each))]
    assert [at for at, _ in pairs] == [at for at, _ in alarms]
    assert all(words in what for (_, what), (_, words) in zip(pairs, alarms, strict=True))


def alarms(shares: Sequence[float | None], *, valid: float = 1.0) -> list[tuple[int, Alarm]]:
    """Alarms with the number of their step, from 1."""
    watch = CollapseWatch()
    read = [(step, watch.read(gauges(share, valid=valid))) for step, share in enumerate(shares, start=1)]
    return [(step, alarm) for step, alarm in read if alarm is not None]


@pytest.mark.parametrize(
    ("shares", "step"),
    [
        ([1.0] * 20, WINDOW),
        ([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0], 7),
    ],
)
def test_a_conductor_that_becomes_a_router_is_noticed_once_with_its_cure(shares: list[float], step: int):
    ((at, alarm),) = alarms(shares)
    assert at == step
    assert "router" in alarm.what
    assert "--grpo-lr" in alarm.cure


@pytest.mark.parametrize(
    "shares", [[0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [1.0, 0.6, 0.9, 0.5, 1.0, 0.6], [None] * 9]
)
def test_a_healthy_training_raises_no_alarm(shares: list[float | None]):
    assert alarms(shares) == []


def test_a_lost_form_is_noticed():
    ((at, alarm),) = alarms([0.2] * 9, valid=0.3)
    assert at == WINDOW
    assert "30% of the plans are valid" in alarm.what


@pytest.mark.parametrize(
    ("shares", "step"),
    [([0.1] * 12, None), ([0.1] * 4 + [0.8] * 6 + [0.2] * 6, 13)],
)
def test_a_form_that_is_still_to_be_learnt_is_not_missed_before_it_was_there(
    shares: list[float], step: int | None
):
    watch = CollapseWatch(replace(DEMONSTRATION, form_to_learn=True))
    warned = [at for at, valid in enumerate(shares, start=1) if watch.read(gauges(0.2, valid=valid))]
    assert warned == ([] if step is None else [step])


def test_steps_taken_earlier_count_and_are_not_warned_of():
    watch = CollapseWatch(before=[gauges(1.0)] * 9)
    assert watch.read(gauges(1.0)) is not None
    assert watch.read(gauges(1.0)) is None
