"""How much of a budget a run has spent, limit by limit. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.text.formatting import dollars
from conductor.values.budget import Limit


@dataclass(frozen=True, slots=True)
class Spent:
    """One limit: what was used of it in words, and as a share (0 to 1, never more)."""

    limit: Limit
    words: str
    share: float


def spent(state: RunState, *, now: float) -> tuple[Spent, ...]:
    """Each limited quantity of the run with what led to it, as far as known. `now` is in Unix seconds."""
    budget, known, before = state.budget, state.known_usage, state.used_before
    end = now if state.finished_at is None else state.finished_at
    running = 0.0 if state.started_at is None else max(0.0, end - state.started_at)
    seconds, calls = before.seconds + running, before.calls + state.calls
    tokens, cost = before.tokens + (known.total or 0), before.cost + (known.cost or 0.0)
    found: list[Spent] = []
    if budget.tokens is not None:
        known_part = "" if state.usage.total is not None else "at least "
        words = f"{known_part}{tokens:,} of {budget.tokens:,} tokens"
        found.append(_of("tokens", words, tokens / budget.tokens))
    if budget.cost is not None:
        known_part = "" if state.usage.cost is not None else "at least "
        words = f"{known_part}{dollars(cost)} of {dollars(budget.cost)}"
        found.append(_of("cost", words, cost / budget.cost))
    if budget.seconds is not None:
        words = f"{seconds:.0f} of {budget.seconds:g} seconds"
        found.append(_of("seconds", words, seconds / budget.seconds))
    if budget.calls is not None:
        words = f"{calls:,} of {budget.calls:,} calls"
        found.append(_of("calls", words, calls / budget.calls))
    return tuple(found)


def _of(limit: Limit, words: str, share: float) -> Spent:
    return Spent(limit=limit, words=words, share=min(share, 1.0))
