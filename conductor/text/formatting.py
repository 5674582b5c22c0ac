"""Amounts as people read them: tokens, dollars, seconds, bytes, how many of what. Unknown is "-"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LISTED = 6
"""How many names are listed one by one; of more, only their number is shown."""


def tokens(total: int | None) -> str:
    return "- tokens" if total is None else quantity(total, "token")


def dollars(cost: float | None) -> str:
    """US dollars, to the hundredth of a cent below a dollar."""
    if cost is None:
        return "-"
    if 0 < cost < 0.0001:
        return "<$0.0001"
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def quantity(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def steps_of_numbers(numbers: Iterable[int]) -> str:
    """Steps by their numbers in ascending order: "step 3", "steps 1 to 12, 14"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    several = len(runs) > 1 or len(runs[0]) > 1
    words = (
        f"{run[0]}{' to ' if run[-1] - run[0] > 1 else ', '}{run[-1]}" if len(run) > 1 else f"{run[0]}"
        for run in runs
    )
    return f"step{'s' if several else ''} {', '.join(words)}"


def estimated(number: int | None, noun: str) -> str:
    """An estimated number with its noun; two digits of it count."""
    if number is None:
        return f"- {noun}s"
    rounded = round(number, 2 - len(str(number))) if number >= 100 else number
    return f"~{quantity(rounded, noun)}"


def named(names: Sequence[str], *, cut: int = 60) -> str:
    """The first few names in one line, each of `cut` characters at most, and how many more there are."""
    more = len(names) - LISTED
    listed = ", ".join(" ".join(name.split())[:cut] for name in names[:LISTED])
    return f"{listed} and {more:,} more" if more > 0 else listed


def size(bytes: int) -> str:
    if bytes < 1000:
        return quantity(bytes, "byte")
    return f"{bytes / 1000:,.1f} kB" if bytes < 1_000_000 else f"{bytes / 1_000_000:,.1f} MB"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def p_value(p: float) -> str:
    """The p of a test, to three digits; never 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def percent(part: float) -> str:
    """A share from 0 to 1; a share above 0 is never shown as 0 %, and one below 1 never as 100 %."""
    if 0 < part < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= part < 1 else f"{part:.0%}"
