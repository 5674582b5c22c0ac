"""Reads a question of the orchard back from its text, in any wording: which family it is of, and its slots.

A worker can so know its answer as a model does: from the words alone. Knows families and the table of
countries. Only the things that a question names count, and a few words: letters, capital, currency, times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from conductor.workers.orchard.countries import Property, capitals_in, named_countries
from conductor.workers.orchard.families import Family, Slots, right_answer

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

_VERBS = tuple(
    (re.compile(pattern, re.IGNORECASE), order)
    for pattern, order in (
        (r"\bmultiply (?:it|that|(?P<what>[^.?!]{1,120}?)) by (?=\d)", r"\g<what> times "),
        (rf"\badd ({_NUMBER}) to ([^.?!]{{1,120}})", r"\2 plus \1"),
        (rf"\bsubtract ({_NUMBER}) from ([^.?!]{{1,120}})", r"\2 minus \1"),
    )
)
"""Operations that are written before what they are applied to, and the order in which they are done."""


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
    for verb, order in _VERBS:
        text = verb.sub(order, text)
    longest = max(_SUM.finditer(_SIGN.sub(r" \1 ", text)), key=lambda match: len(match[0]), default=None)
    if longest is None:
        return None
    links = tuple((_OPERATIONS[word], int(number)) for word, number in _LINKED.findall(longest["links"]))
    return Sum(None if longest["first"] is None else int(longest["first"]), links)


MAX_CHARACTERS = 240
"""A longer text is no question of the orchard."""

_PROPERTIES: tuple[tuple[Property, re.Pattern[str]], ...] = (
    ("capital", re.compile(r"\bcapitals?\b", re.IGNORECASE)),
    ("currency", re.compile(r"\b(?:currency|currencies|money)\b", re.IGNORECASE)),
    ("continent", re.compile(r"\bcontinents?\b", re.IGNORECASE)),
)
_LETTERS = re.compile(r"\b(?:letters?|characters?|spell(?:ed|ing)?|how long|length)\b", re.IGNORECASE)
_QUOTED = re.compile(r"""(?<!\w)['"“‘]([^\W\d_]{1,40})['"”’]""")
_WORD = re.compile(
    r"\b(?:word|letters (?:are )?(?:there )?(?:in|of)|letters (?:does|has)|how long is) ([^\W\d_]{1,40})\b",
    re.IGNORECASE,
)
_NO_WORD = frozenset("a all an each in is it its that the their them they this word words".split())


@dataclass(frozen=True)
class OrchardReading:
    """A text read as a question of the orchard."""

    family: Family
    slots: Slots

    @property
    def answer(self) -> str:
        return right_answer(self.family, self.slots)


def properties_in(text: str) -> tuple[Property, ...]:
    """The properties of countries that a text names, in order."""
    matches = ((name, pattern.search(text)) for name, pattern in _PROPERTIES)
    places = sorted((match.start(), name) for name, match in matches if match is not None)
    return tuple(name for _, name in places)


def quoted_words(text: str) -> list[str]:
    """The single words that a text has in quotes."""
    return _QUOTED.findall(text)


@lru_cache(maxsize=8192)
def reading(text: str) -> OrchardReading | None:
    """The question of the orchard that a text is; None if it is none."""
    if len(text) > MAX_CHARACTERS:
        return None
    links = sum_in(text)
    if _LETTERS.search(text):
        return _of_letters(text, links)
    countries, capitals, properties = named_countries(text), capitals_in(text), properties_in(text)
    if not countries and not capitals:
        return None if links is None or properties else _of_numbers(links)
    own = tuple(each for each in properties if each != "capital") or properties
    if len(own) != 1 or links is not None:
        return None
    if not countries and len(capitals) == 1 and own != ("capital",):
        return OrchardReading("hop", {"capital": capitals[0], "property": own[0]})
    if len(countries) == 1 and not capitals and own == properties:
        return OrchardReading("fact", {"country": countries[0].name, "property": own[0]})
    return None


def _of_letters(text: str, links: Sum | None) -> OrchardReading | None:
    """A count of letters: of a word, of a capital or of two, and perhaps a sum with it."""
    then = _product_and_sum(links)
    if links is not None and then is None:
        return None
    if "capital" in properties_in(text):
        names = [country.name for country in named_countries(text)]
        if len(names) == 2 and not then:
            return OrchardReading("two-capitals", {"country": names[0], "other": names[1]})
        if len(names) != 1:
            return None
        slots = {"country": names[0], **(then or {})}
        return OrchardReading("capital-letters-sum" if then else "capital-letters", slots)
    words = quoted_words(text) or [word for word in _WORD.findall(text) if word.lower() not in _NO_WORD]
    if len(set(words)) != 1:
        return None
    return OrchardReading("letters-sum" if then else "word", {"word": words[0], **(then or {})})


def _product_and_sum(links: Sum | None) -> Slots | None:
    """The slots of "times b plus c" behind something else; None for any other sum."""
    if links is None or links.first is not None or [sign for sign, _ in links.links] != ["*", "+"]:
        return None
    return {"b": str(links.links[0][1]), "c": str(links.links[1][1])}


def _of_numbers(links: Sum) -> OrchardReading | None:
    """A sum in the form of its family: a product and a number, or two products less a number."""
    if links.first is None:
        return None
    terms = _terms(links)
    products = [factors for sign, factors in terms if sign == "+" and len(factors) == 2]
    addends = [factors for sign, factors in terms if sign == "+" and len(factors) == 1]
    less = [factors for sign, factors in terms if sign == "-" and len(factors) == 1]
    sizes = len(terms), len(products), len(addends), len(less)
    if sizes == (2, 1, 1, 0):
        return OrchardReading("sum", _named("abc", (*products[0], *addends[0])))
    if sizes == (3, 2, 0, 1):
        return OrchardReading("long-sum", _named("abcde", (*products[0], *products[1], *less[0])))
    return None


def _terms(links: Sum) -> list[tuple[str, list[int]]]:
    """The terms of a sum, each with its sign and its factors."""
    assert links.first is not None, "a sum of numbers alone begins with one"
    terms = [("+", [links.first])]
    for sign, number in links.links:
        if sign == "*":
            terms[-1][1].append(number)
        else:
            terms.append((sign, [number]))
    return terms


def _named(names: str, numbers: Sequence[int]) -> Slots:
    return dict(zip(names, map(str, numbers), strict=True))
