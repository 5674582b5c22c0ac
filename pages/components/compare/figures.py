"""Compares the figures of two sides: time, cost and tokens, in all and step by step. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import dollars, duration, percent
from conductor.text.word_diff import compare_texts
from conductor.values.total import BoundedSum, Total
from pages.components.view_models.comparable import Side
from pages.components.view_models.run_text import run_label
from pages.components.view_models.workflow.heat import step_cost


def named_apart(left: Side, right: Side) -> tuple[Side, Side]:
    """Both under names that differ: runs of two sessions may have the same number."""
    if left.name != right.name:
        return left, right
    return replace(left, name=f"{left.name}, left"), replace(right, name=f"{right.name}, right")


def raced(left: Side, right: Side) -> bool:
    """Whether both are runs that were under way at the same time."""
    if left.state is None or right.state is None:
        return False
    one, other = _span(left.state), _span(right.state)
    return one[0] < other[1] and other[0] < one[1]


def _span(run: RunState) -> tuple[float, float]:
    """From when to when it was under way, in Unix seconds."""
    start = math.inf if run.started_at is None else run.started_at
    return start, math.inf if run.live or run.finished_at is None else run.finished_at


def verdict(left: Side, right: Side) -> str:
    """Which of two runs that are over was first, and which cost less; what is unknown is left out."""
    answered = [side for side in (left, right) if side.state is not None and side.state.answered]
    if len(answered) < 2:
        return f"Only {answered[0].name} has an answer." if answered else "Neither has an answer."
    runs = [(side.name, side.state) for side in answered if side.state is not None]
    time = _less([(name, run.seconds) for name, run in runs], "was first, by {}", duration)
    cost = _less([(name, run.used.dollars.exact) for name, run in runs], "cost {} less", dollars)
    used = _less([(name, run.used.token_sum.exact) for name, run in runs], "used {} fewer tokens", _number)
    claims: dict[str, list[str]] = {}
    for name, words in filter(None, (time, cost or used)):
        claims.setdefault(name, []).append(words)
    sentences = [f"{name} {' and '.join(words)}" for name, words in claims.items()]
    return f"{'; '.join(sentences) or 'No difference in time or cost'}."


def _less(
    amounts: Sequence[tuple[str, float | None]], words: str, written: Callable[[float], str]
) -> tuple[str, str] | None:
    """Which side took less, and by how much, or None if that is unknown or the same."""
    (name, one), (other_name, other) = amounts
    if one is None or other is None or written(one) == written(other):
        return None
    return name if one < other else other_name, words.format(written(abs(one - other)))


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of both sides in words, "-" where it is unknown; `difference` is "" if they are equal."""

    name: str
    left: str
    right: str
    difference: str = ""


def figures(left: Side, right: Side) -> tuple[Figure, ...]:
    """The figures of two sides; those of runs only where one of them is a run."""
    one, other = left.state, right.state
    steps = _figure("Steps", len(left.workflow), len(right.workflow), _number)
    if one is None and other is None:
        return (steps,)

    def of_sums(
        name: str, measure: Callable[[Total], BoundedSum], written: Callable[[float | None], str]
    ) -> Figure:
        sums = [None if state is None else measure(state.used) for state in (one, other)]
        left, right = ("-" if each is None else each.words(written) for each in sums)
        exact, other_exact = (None if each is None else each.exact for each in sums)
        return Figure(name, left, right, difference(exact, other_exact, written))

    def of_runs(
        name: str, measure: Callable[[RunState], float | None], written: Callable[[float], str] = _number
    ) -> Figure:
        return _figure(
            name, None if one is None else measure(one), None if other is None else measure(other), written
        )

    return (
        Figure("State", *("not run" if state is None else run_label(state) for state in (one, other))),
        steps,
        of_runs("Reused or kept", lambda run: sum(bool(at.reused or at.kept_because) for at in run.steps)),
        of_runs("Calls", lambda run: run.calls),
        of_sums("Tokens", lambda used: used.token_sum, _number),
        of_sums("Cost", lambda used: used.dollars, dollars),
        of_runs("Time", lambda run: run.seconds, duration),
    )


def _figure(name: str, one: float | None, other: float | None, written: Callable[[float], str]) -> Figure:
    left, right = ("-" if value is None else written(value) for value in (one, other))
    return Figure(name, left, right, difference(one, other, written))


def step_differences(left: StepState | None, right: StepState | None) -> tuple[str, ...]:
    """How the run of a step on the right differs from that on the left, in a word or few each: the share of
    the output, then time and cost where both called a worker. Nothing before both have ended.
    """
    if left is None or right is None or not (left.done and right.done):
        return ()
    words = [] if left.text == right.text else [f"{percent(1 - _share(left.text, right.text))} differs"]
    if left.seconds is not None and right.seconds is not None:
        old, new = step_cost(left).exact, step_cost(right).exact
        more = (difference(left.seconds, right.seconds, duration), difference(old, new, dollars))
        words += [each.partition(" (")[0] for each in more if each not in ("=", "-")]
        if (old is None) != (new is None):
            words.append("cost unknown")
    return tuple(words)


@lru_cache(maxsize=256)
def _share(left: str, right: str) -> float:
    return compare_texts(left, right).share


def difference(one: float | None, other: float | None, written: Callable[[float], str]) -> str:
    """How much more or less the other is, with the share where that is known; "=" where both read the same,
    "-" where either is unknown.
    """
    if one is None or other is None:
        return "-"
    if written(one) == written(other):
        return "="
    sign, gap = "+" if other > one else "−", abs(other - one)
    if not one:
        return f"{sign}{written(gap)}"
    share = f"×{other / one:,.0f}" if other >= 10 * one else f"{sign}{gap / one:.0%}"
    return f"{sign}{written(gap)} ({share})"


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"
