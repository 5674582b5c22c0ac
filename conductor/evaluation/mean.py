"""A mean that states over how many of its amounts it is. Values and their words only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from conductor.values.total import BoundedSum


@dataclass(frozen=True)
class Mean:
    """A mean over `size` of `of` amounts: the others are unknown, and may differ from these. `at_most`: it
    is an upper bound, since one of them is.
    """

    value: float
    size: int
    of: int
    at_most: bool = False

    @classmethod
    def over(cls, amounts: Iterable[BoundedSum]) -> Mean | None:
        """The mean of those that have an upper bound; None if there is none."""
        all_amounts = list(amounts)
        mosts = [amount.most for amount in all_amounts if amount.most is not None]
        if not mosts:
            return None
        bounded = any(amount.at_most for amount in all_amounts)
        return cls(fmean(mosts), len(mosts), len(all_amounts), at_most=bounded)

    @property
    def part(self) -> str:
        """Over how many it is, such as "7 of 10"; "" if it is over all."""
        return f"{self.size:,} of {self.of:,}" if self.size < self.of else ""

    def words(self, written: Callable[[Any], str]) -> str:
        """The mean as `written` writes a number, and which bound and which part it is."""
        part = f" ({self.part})" if self.part else ""
        return f"{'≤ ' * self.at_most}{written(self.value)}{part}"


def mean_words(mean: Mean | None, written: Callable[[Any], str], *, unknown: str = "-") -> str:
    """Its words; `unknown` without one."""
    return unknown if mean is None else mean.words(written)
