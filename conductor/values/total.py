"""Sums with their bounds: exact, at least, at most, or unknown. Values and their arithmetic only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import Field, computed_field

from conductor.text.formatting import dollars, quantity
from conductor.values.messages import Usage, Value

MOST_TOKENS = 1_000_000_000
"""An endpoint that reports more for one request is wrong."""


class BoundedSum(Value):
    """A sum that lies between two bounds; `most` is None if a part of it is unknown.

    Both bounds of a sum are the sums of the bounds of its parts.
    """

    least: int | float = 0
    most: int | float | None = 0

    def __add__(self, other: BoundedSum) -> BoundedSum:
        most = None if self.most is None or other.most is None else self.most + other.most
        return BoundedSum(least=self.least + other.least, most=most)

    @property
    def exact(self) -> Any:
        """The number if it is known exactly, else None."""
        return self.least if self.least == self.most else None

    @property
    def best(self) -> Any:
        """The number to show: the upper bound, else the lower one; None if nothing is known."""
        return (self.least or None) if self.most is None else self.most

    @property
    def at_least(self) -> bool:
        """Whether `best` is a lower bound."""
        return self.most is None and bool(self.least)

    @property
    def at_most(self) -> bool:
        """Whether `best` is an upper bound."""
        return self.most is not None and self.least != self.most

    @property
    def sign(self) -> str:
        """Which bound `best` is, for small places; empty for the exact number."""
        return "≥ " if self.at_least else "≤ " if self.at_most else ""

    def words(self, written: Callable[[Any], str]) -> str:
        """`best` for people, as `written` writes a number or None, and which bound it is."""
        bound = "at least " if self.at_least else "at most " if self.at_most else ""
        return f"{bound}{written(self.best)}"


ZERO, UNKNOWN = BoundedSum(), BoundedSum(most=None)


def sum_of(number: float | None, least: float | None = None) -> BoundedSum:
    """The sum of one number, from `least` where that is another one; of any size if it is None."""
    return UNKNOWN if number is None else BoundedSum(least=number if least is None else least, most=number)


class Total(Value):
    """What a number of requests took together, in tokens and US dollars.

    `tokens` and `cost` are what to show: the exact number, or a bound of it by the flags, None if nothing
    is known. Without any of the `calls` both are None as well, unless something of it `may_call`.
    """

    prompt: BoundedSum = Field(default=ZERO, exclude=True)
    completion: BoundedSum = Field(default=ZERO, exclude=True)
    dollars: BoundedSum = Field(default=ZERO, exclude=True)
    calls: int = 0
    may_call: bool = Field(default=False, exclude=True)

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> Total:
        """The total of requests that took this."""
        total = cls()
        for usage in usages:
            total += cls(
                prompt=sum_of(usage.prompt_tokens),
                completion=sum_of(usage.completion_tokens),
                dollars=sum_of(usage.cost, usage.least_cost),
                calls=1,
            )
        return total

    def __add__(self, other: Total) -> Total:
        return Total(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            dollars=self.dollars + other.dollars,
            calls=self.calls + other.calls,
            may_call=self.may_call or other.may_call,
        )

    @property
    def token_sum(self) -> BoundedSum:
        """Prompts and completions together."""
        return self.prompt + self.completion

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tokens(self) -> int | None:
        return self.token_sum.best if self.calls or self.may_call else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tokens_at_least(self) -> bool:
        return self.token_sum.at_least

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost(self) -> float | None:
        return self.dollars.best if self.calls or self.may_call else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_at_least(self) -> bool:
        return self.dollars.at_least

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_at_most(self) -> bool:
        return self.dollars.at_most

    @property
    def usage(self) -> Usage:
        """The same as one usage: None for what has no upper bound; `least_cost` for a bounded cost."""
        least = None if self.dollars.most == self.dollars.least else float(self.dollars.least)
        return Usage(
            prompt_tokens=self.prompt.exact,
            completion_tokens=self.completion.exact,
            cost=self.dollars.most,
            least_cost=None if self.dollars.most is None else least,
        )

    @property
    def lower(self) -> Usage:
        """The lower bounds."""
        return Usage(
            prompt_tokens=int(self.prompt.least),
            completion_tokens=int(self.completion.least),
            cost=float(self.dollars.least),
        )

    @property
    def token_words(self) -> str:
        """The tokens for people; "- tokens" where unknown."""
        if self.tokens is None:
            return "- tokens"
        return self.token_sum.words(lambda number: quantity(number, "token"))

    @property
    def cost_words(self) -> str:
        """The dollars for people; "-" where unknown."""
        return self.dollars.words(dollars) if self.calls or self.may_call else dollars(None)

    @property
    def known_words(self) -> list[str]:
        """Tokens and dollars for people, without what is unknown."""
        parts = [] if self.tokens is None else [self.token_words]
        return parts if self.cost is None else [*parts, self.cost_words]


NOTHING = Total()
"""The total of no request, from which sums start."""

UNDER_WAY = Total(prompt=UNKNOWN, completion=UNKNOWN, dollars=UNKNOWN, may_call=True)
"""What a request takes that has not ended."""
