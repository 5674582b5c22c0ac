"""What several calls used together where some of it may be unknown. Values only."""

from __future__ import annotations

from collections.abc import Iterable

from conductor.text.formatting import dollars, quantity
from conductor.values.messages import Usage, Value


class Total(Value):
    """Tokens and US dollars: the sum of what is known, None if nothing is.

    `tokens_at_least` and `cost_at_least`: a part of the sum is unknown, so that it is a lower bound.
    """

    tokens: int | None = None
    tokens_at_least: bool = False
    cost: float | None = None
    cost_at_least: bool = False

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> Total:
        """The total of these calls; no call at all is unknown, not 0."""
        parts = list(usages)
        tokens = [part.total for part in parts if part.total is not None]
        costs = [part.cost for part in parts if part.cost is not None]
        return cls.sum_of(
            tokens=sum(tokens),
            tokens_unknown=len(tokens) < len(parts) or not parts,
            cost=sum(costs),
            cost_unknown=len(costs) < len(parts) or not parts,
        )

    @classmethod
    def sum_of(cls, *, tokens: int, tokens_unknown: bool, cost: float, cost_unknown: bool) -> Total:
        """The total of known sums, and whether there is more; a bound of 0 carries no meaning and is None."""
        return cls(
            tokens=tokens if tokens or not tokens_unknown else None,
            tokens_at_least=bool(tokens) and tokens_unknown,
            cost=cost if cost or not cost_unknown else None,
            cost_at_least=bool(cost) and cost_unknown,
        )

    @property
    def token_words(self) -> str:
        """The tokens for people; "- tokens" where unknown."""
        if self.tokens is None:
            return "- tokens"
        return f"{'at least ' * self.tokens_at_least}{quantity(self.tokens, 'token')}"

    @property
    def cost_words(self) -> str:
        """The dollars for people; "-" where unknown."""
        return f"{'at least ' * self.cost_at_least}{dollars(self.cost)}"

    @property
    def known_words(self) -> list[str]:
        """Tokens and dollars for people, without what is unknown."""
        parts = [] if self.tokens is None else [self.token_words]
        return parts if self.cost is None else [*parts, self.cost_words]
