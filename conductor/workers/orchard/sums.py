"""Sums of whole numbers in words: "12 times 3 plus 7", and "times 3 plus 7" of something else. Pure.

Knows no question; multiplication comes first, as in a formula.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINKS = 20
"""The most operations of a sum that is read."""

_OPERATIONS = {
    "times": "*", "multiplied by": "*", "*": "*", "x": "*", "×": "*",
    "plus": "+", "add": "+", "+": "+",
    "minus": "-", "subtract": "-", "-": "-",
}  # fmt: skip
_WORDS = "|".join(map(re.escape, _OPERATIONS))
# Bounded: a model may have written the text, and long runs of spaces or digits take long to read.
_NUMBER = r"\d{1,18}\b"
_BEFORE = r",?\s{1,3}(?:and\s{1,3}|then\s{1,3}){0,2}"
_LINKED = re.compile(rf"{_BEFORE}({_WORDS})\s{{1,3}}({_NUMBER})")
_SUM = re.compile(
    rf"(?P<first>\b{_NUMBER})?(?P<links>(?:{_BEFORE}(?:{_WORDS})\s{{1,3}}{_NUMBER}){{1,{MAX_LINKS}}})"
)

_SIGN = re.compile(r"(?<=\d)\s{0,3}([-+*x×])\s{0,3}(?=\d)")


@dataclass(frozen=True)
class Sum:
    """A first number (None if the sum continues something else) and what is done with it, in order."""

    first: int | None
    links: tuple[tuple[str, int], ...]

    @property
    def long(self) -> bool:
        """Whether it has more operations than are reliably done in one go."""
        return len(self.links) >= 4

    def value(self, first: int | None = None) -> int | None:
        """The result, begun with `first` where the sum has no first number; None without either."""
        start = self.first if self.first is not None else first
        if start is None:
            return None
        total, product = 0, start
        for operation, number in self.links:
            if operation == "*":
                product *= number
            else:
                total, product = total + product, number if operation == "+" else -number
        return total + product

    def text(self, first: int | None = None) -> str:
        """As a formula: 12 * 3 + 7."""
        start = self.first if self.first is not None else first
        return " ".join([str(start), *(f"{operation} {number}" for operation, number in self.links)])


def sum_in(text: str) -> Sum | None:
    """The longest sum in a text, or None."""
    longest = max(_SUM.finditer(_SIGN.sub(r" \1 ", text)), key=lambda match: len(match[0]), default=None)
    if longest is None:
        return None
    links = tuple((_OPERATIONS[word], int(number)) for word, number in _LINKED.findall(longest["links"]))
    return Sum(None if longest["first"] is None else int(longest["first"]), links)
