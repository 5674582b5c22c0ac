"""What two runs took, figure by figure: on the left, on the right, and the difference. Pure.

Unknown is "-"; so is the difference to what is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.text.formatting import dollars, duration
from pages.components.view_models.comparable import Side
from pages.components.view_models.statuses import run_label


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of both sides in words; `difference` is "" where there is none."""

    name: str
    left: str
    right: str
    difference: str = ""


def figures(left: Side, right: Side) -> tuple[Figure, ...]:
    """The figures of two sides; those of runs only where one of them is a run."""
    found = [_steps(left, right)]
    if left.state is None and right.state is None:
        return tuple(found)
    one, other = left.state, right.state
    return (
        Figure("State", _state(one), _state(other)),
        *found,
        _of("Reused or kept", one, other, _spared, _number),
        _of("Calls", one, other, lambda state: state.calls, _number),
        _of("Tokens", one, other, lambda state: state.usage.total, _number),
        _of("Cost", one, other, lambda state: state.usage.cost, dollars),
        _of("Time", one, other, lambda state: state.seconds, duration),
    )


def _state(state: RunState | None) -> str:
    return "not run" if state is None else run_label(state)


def _steps(left: Side, right: Side) -> Figure:
    one, other = len(left.workflow), len(right.workflow)
    return Figure("Steps", _number(one), _number(other), difference(one, other, _number))


def _spared(state: RunState) -> int:
    return sum(step.reused or step.kept is not None for step in state.steps)


def _of(
    name: str,
    left: RunState | None,
    right: RunState | None,
    figure: Callable[[RunState], float | None],
    written: Callable[[float], str],
) -> Figure:
    one = None if left is None else figure(left)
    other = None if right is None else figure(right)
    return Figure(
        name,
        "-" if one is None else written(one),
        "-" if other is None else written(other),
        difference(one, other, written),
    )


def difference(one: float | None, other: float | None, written: Callable[[float], str]) -> str:
    """How much more or less the other is, with the share where that is known; "=" where it is the same."""
    if one is None or other is None:
        return "-"
    if one == other:
        return "="
    sign = "+" if other > one else "−"
    return f"{sign}{written(abs(other - one))}{_share(one, other, sign)}"


def _share(one: float, other: float, sign: str) -> str:
    if not one:
        return ""
    return f" (×{other / one:,.0f})" if other >= 10 * one else f" ({sign}{abs(other - one) / one:.0%})"


def _number(number: float) -> str:
    return f"{number:,.0f}"
