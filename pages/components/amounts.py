"""Amounts as people read them: tokens, dollars, how many of what. Unknown is "-"."""

from __future__ import annotations


def tokens(total: int | None) -> str:
    """A number of tokens."""
    return "- tokens" if total is None else counted(total, "token")


def dollars(cost: float | None) -> str:
    """US dollars, to the hundredth of a cent below a dollar."""
    if cost is None:
        return "-"
    if 0 < cost < 0.0001:
        return "<$0.0001"
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
