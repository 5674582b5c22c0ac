"""Settings as a person chooses them: what each click makes of them, and how they are summed up."""

from __future__ import annotations

import pytest

from conductor.values.budget import Budget
from conductor.values.presets import MODES, Settings
from conductor.workers.protocol import Price, WorkerCard
from pages.components.view_models.settings_choices import (
    MODE_LINES,
    economy,
    mode_of,
    moved,
    planners,
    roster,
    summary,
    with_mode,
    with_use,
)

NAMES = ("a", "b", "c", "d")


def workers(*chosen):
    return Settings(workers=chosen or None)


def test_every_mode_is_named_and_named_apart():
    assert {mode: mode_of(settings) for mode, settings in MODES.items()} == {mode: mode for mode in MODES}
    assert MODE_LINES.keys() == MODES.keys()
    assert mode_of(Settings(max_steps=3)) is None


def test_a_mode_leaves_workers_and_budget_as_they_are():
    mine = Settings(workers=("b",), budget=Budget(calls=3), attempts=2)
    chosen = with_mode(mine, "ultra")
    assert (chosen.rounds, chosen.workers, chosen.budget, chosen.attempts) == (3, ("b",), Budget(calls=3), 2)
    assert with_mode(with_mode(mine, "mini"), "standard") == mine


@pytest.mark.parametrize(
    ("before", "worker", "use", "after"),
    [
        ((), "b", False, ("a", "c", "d")),
        (("a", "c", "d"), "b", True, None),
        (("a", "c"), "b", True, ("a", "b", "c")),
        (("c", "a"), "b", True, ("c", "a", "b")),
        (("c", "a"), "c", False, ("a",)),
        (("a",), "a", False, ("a",)),
        (("a",), "a", True, ("a",)),
        (("a", "lost"), "lost", False, ("a",)),
    ],
)
def test_a_worker_is_used_or_not(before, worker, use, after):
    assert with_use(workers(*before), NAMES, worker, use=use).workers == after


@pytest.mark.parametrize(
    ("before", "worker", "to", "after"),
    [
        ((), "b", 0, ("b", "a", "c", "d")),
        ((), "a", 2, ("b", "c", "a", "d")),
        (("b", "a", "c", "d"), "b", 1, None),
        (("a", "c"), "c", 2, ("a", "c")),
        (("a", "c"), "a", -1, ("a", "c")),
        (("a", "c"), "b", 0, ("a", "c")),
    ],
)
def test_a_worker_is_moved_among_those_used_once_however_often_the_press_comes(before, worker, to, after):
    once = moved(workers(*before), NAMES, worker, to=to)
    assert once.workers == after
    assert moved(once, NAMES, worker, to=to) == once


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        ((), "+a +b +c +d"),
        (("a", "c"), "+a -b +c -d"),
        (("c", "a"), "+c +a -b -d"),
        (("lost", "a"), "+lost +a -b -c -d"),
    ],
)
def test_unused_workers_keep_their_place_while_the_order_is_the_pools(chosen, rows):
    assert " ".join("-+"[use] + name for name, use in roster(workers(*chosen), NAMES)) == rows


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        (Settings(), "Standard · Up to 5 steps · 4 workers"),
        (MODES["mini"], "Mini · 1 step · 4 workers"),
        (MODES["ultra"], "Ultra · Up to 5 steps, 3 rounds · 4 workers"),
        (Settings(max_steps=3, rounds=2), "Custom · Up to 3 steps, 2 rounds · 4 workers"),
        (workers("a", "b", "c"), "Standard · Up to 5 steps · 3 of 4 workers"),
        (workers("d", "c", "b", "a"), "Standard · Up to 5 steps · 4 workers in your order"),
        (
            Settings(budget=Budget(tokens=5000, cost=0.0005, seconds=2.5, calls=1)),
            "Standard · Up to 5 steps · 4 workers · 5,000 tokens · $0.0005 · 2.5 s · 1 call",
        ),
        (Settings(budget=Budget(cost=0.1)), "Standard · Up to 5 steps · 4 workers · $0.10"),
    ],
)
def test_what_is_chosen_is_one_line(chosen, line):
    assert summary(chosen, NAMES) == line


def card(name: str, price: float | None, *, nested: bool = False) -> WorkerCard:
    rates = None if price is None else Price(prompt=price, completion=price)
    return WorkerCard(name=name, kind="model", strengths="", model="m", price=rates, nested=nested)


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        ([card("a", 2), card("b", 1), card("c", None)], "Lowest known price: b."),
        ([card("a", 1), card("b", 1), card("c", 3)], "Lowest known price: 2 of 3 workers."),
        ([card("a", 1), card("b", 1)], "All workers have the same price."),
        ([card("a", None), card("b", None)], "No price is known, so all workers stay available."),
        ([card("a", None), card("b", 1, nested=True)], "No price is known, so all workers stay available."),
        ([card("a", 1)], ""),
    ],
)
def test_who_is_cheap_enough_is_one_line(cards, expected):
    assert economy(MODES["mini"], cards) == expected
    assert economy(Settings(), cards) == ""


def test_who_learnt_on_the_pool_may_plan_and_who_was_chosen_stays_in_the_list():
    settings = Settings(planner="baseline:vote")
    assert planners(settings, ["mine"]) == {
        "": "The pool's Conductor", "planner:mine": "mine", "baseline:vote": "baseline:vote",
    }  # fmt: skip
    assert list(planners(Settings(), [])) == [""]
