"""The orchard's table of countries and how a text names them.

Knows the table of `countries.csv` (the 193 members of the United Nations and its two observer states) and
spelling; knows no question.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Property = Literal["capital", "continent", "currency"]


@dataclass(frozen=True, eq=False)
class Country:
    """A country, its other names, and the text of each property in the table; `;` parts several values."""

    name: str
    aliases: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def capitals(self) -> tuple[str, ...]:
        """The capitals, one by one and without the text in brackets behind them."""
        return tuple(re.split(r"; ?", re.sub(r" \([^()]*\)", "", self.properties["capital"])))

    def line(self, of: Property) -> str:
        """A property as a sentence: Capital of France: Paris."""
        return f"{of.capitalize()} of {self.name}: {self.properties[of]}"


@cache
def countries() -> tuple[Country, ...]:
    """All countries of the table, in its order."""
    with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Country(row.pop("name"), tuple(filter(None, row.pop("aliases").split(";"))), row)
            for row in csv.DictReader(file)
        )


def country_named(text: str) -> Country | None:
    """The country of exactly this name."""
    return _by_name().get(_key(text)) if _names_in(text) else None


def named_countries(text: str) -> tuple[Country, ...]:
    """The countries that a text names, in order of first mention; a capital is not read as a country."""
    return tuple(dict.fromkeys(_by_name()[name] for name in _names_in(text) if name in _by_name()))


def capital_country(capital: str) -> tuple[str, Country] | None:
    """How a capital is written and the first country that has it; None if it is no capital."""
    return _by_capital().get(_key(capital))


def capitals_in(text: str) -> tuple[str, ...]:
    """The capitals that a text names, as the table writes them, in order; a country's name is no capital."""
    names = (name for name in _names_in(text) if name not in _by_name())
    return tuple(dict.fromkeys(_by_capital()[name][0] for name in names))


def _key(text: str) -> str:
    """A text for comparing: its words in lower case, parted by one space."""
    return _words(text).casefold()


def _words(text: str) -> str:
    """The words of a text, parted by one space, without accents, and without possessives: France's."""
    letters = unicodedata.normalize("NFKD", text.translate(_WITHOUT_STROKE))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    spelling = re.sub(r"\bU\.\s?S\.(?:\s?A\.)?", "US", re.sub(r"['’]s\b", "", plain))
    return " ".join(re.findall(r"[^\W_]+", spelling))


_WITHOUT_STROKE = str.maketrans("đĐłŁ", "dDlL")
_CASED = {"us", "emirates", "georgia", "chad", "jordan", "turkey", "niger"}
"""Names that are also words: they count only when written with a capital letter, US in capitals."""


def _names_in(text: str) -> list[str]:
    """The longest names of countries and capitals, from left to right, as keys."""
    matches = ((name.lower(), name) for name in _pattern().findall(_words(text)))
    return [key for key, name in matches if key not in _CASED or name not in (key, "Us")]


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted({*_by_name(), *_by_capital()}, key=len, reverse=True)
    return re.compile(rf"(?<!\S)(?:{'|'.join(names)})(?!\S)", re.IGNORECASE)


@cache
def _by_name() -> Mapping[str, Country]:
    return {_key(name): country for country in countries() for name in (country.name, *country.aliases)}


@cache
def _by_capital() -> Mapping[str, tuple[str, Country]]:
    capitals = ((capital, country) for country in reversed(countries()) for capital in country.capitals)
    return {_key(capital): (capital, country) for capital, country in capitals}
