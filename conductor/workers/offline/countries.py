"""The shipped table of countries and how a text names them.

Knows the table of `countries.csv` (the 193 members of the United Nations and its two observer
states) and spelling; not what is asked.
Population (2024 or earlier) and gross domestic product (at purchasing power) are those of Unicode CLDR 48
(Unicode License v3), areas those of GeoNames (CC BY 4.0). Where the two differ much, the population is left
out. The licences are named in `docs/pool.md`.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Property = Literal["capital", "continent", "currency", "languages", "population", "area", "gdp"]
PROPERTIES: tuple[Property, ...] = (
    "capital",
    "continent",
    "currency",
    "languages",
    "population",
    "area",
    "gdp",
)
TITLES: Mapping[Property, str] = dict(
    zip(
        PROPERTIES,
        ("Capital", "Continent", "Currency", "Official languages", "Population", "Area", "GDP"),
        strict=True,
    )
)
NUMBERS: tuple[Property, ...] = ("population", "area", "gdp")
STATED = tuple(each for each in PROPERTIES if each not in NUMBERS)
"""What is stated of a country where nothing is asked for by name."""

MAX_LISTED = 60
"""The most countries that are listed."""


@dataclass(frozen=True, eq=False)
class Country:
    """A country, its other names, and the text of each property in the table; `;` parts several values."""

    name: str
    aliases: tuple[str, ...]
    properties: Mapping[str, str]

    def values(self, of: Property) -> tuple[str, ...]:
        """The values of a property, one by one and without the text in brackets behind them."""
        return tuple(re.split(r"; ?", re.sub(r" \([^()]*\)", "", self.properties[of])))

    def number(self, of: Property) -> float:
        """A property that is a number, 0 where the table has none."""
        return float(self.properties[of] or 0)

    def text(self, of: Property) -> str:
        """A property as text."""
        match of:
            case "population":
                return f"about {_rounded(self.number(of))} people"
            case "area":
                return (
                    f"about {self.number(of):,.0f} km^2"
                    if self.number(of) >= 1
                    else f"{self.number(of):g} km^2"
                )
            case "gdp":
                return f"about {_rounded(self.number(of))} international dollars at purchasing power"
            case "languages":
                return self.properties[of].replace(";", ", ")
            case _:
                return self.properties[of]

    def line(self, of: Property) -> str:
        """A property as a sentence: Capital of France: Paris."""
        return f"{TITLES[of]} of {self.name}: {self.text(of)}"


def _rounded(number: float) -> str:
    for scale, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= scale:
            return f"{number / scale:.3g} {name}"
    return f"{number:,.0f}"


@cache
def countries() -> tuple[Country, ...]:
    """All countries of the table, in its order."""
    with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Country(row.pop("name"), tuple(filter(None, row.pop("aliases").split(";"))), row)
            for row in csv.DictReader(file)
        )


def key_of(text: str) -> str:
    """A text for comparing: its words in lower case, parted by one space."""
    return _words(text).casefold()


def _words(text: str) -> str:
    """The words of a text, parted by one space, without accents, and without possessives: France's."""
    letters = unicodedata.normalize("NFKD", text.translate(_WITHOUT_STROKE))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    named = re.sub(r"\bU\.\s?S\.(?:\s?A\.)?", "US", re.sub(r"['’]s\b", "", plain))
    return " ".join(re.findall(r"[^\W_]+", named))


_WITHOUT_STROKE = str.maketrans("đĐłŁ", "dDlL")
_CASED = {"us", "emirates", "georgia", "chad", "jordan", "turkey", "niger"}
"""Names that are also words: they count only when written with a capital letter, US in capitals."""


def country_named(text: str) -> Country | None:
    """The country of exactly this name."""
    return _by_name().get(key_of(text)) if _names_in(text) else None


def country_names() -> Collection[str]:
    """Every name of every country, in plain letters and as the table writes them."""
    names = {name for country in countries() for name in (country.name, *country.aliases)}
    return {*names, *_by_name()}


def value_names(of: Property) -> Collection[str]:
    """The names of all values of a property, in plain letters and lower case."""
    return _by_value(of).keys()


def named_countries(text: str) -> tuple[Country, ...]:
    """The countries a text names, in order of first mention; capitals are not taken for countries."""
    return tuple(dict.fromkeys(_by_name()[name] for name in _names_in(text) if name in _by_name()))


def in_place(text: str, of: Country) -> str:
    """The words of a text with this country in place of those that it names."""
    return _pattern().sub(of.name, _words(text))


def holding(value: str, of: Property) -> tuple[str, tuple[Country, ...]] | None:
    """How a value of a property is written and who has it, None where there is none."""
    return _by_value(of).get(key_of(value))


def _names_in(text: str) -> list[str]:
    """The longest names of countries and capitals, from left to right, as keys."""
    found = ((name.lower(), name) for name in _pattern().findall(_words(text)))
    return [key for key, name in found if key not in _CASED or name not in (key, "Us")]


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted({*_by_name(), *_by_value("capital")}, key=len, reverse=True)
    return re.compile(rf"(?<!\S)(?:{'|'.join(names)})(?!\S)", re.IGNORECASE)


@cache
def _by_name() -> Mapping[str, Country]:
    return {key_of(name): country for country in countries() for name in (country.name, *country.aliases)}


@cache
def _by_value(of: Property) -> Mapping[str, tuple[str, tuple[Country, ...]]]:
    """How a value is written and the countries that have it, by each of the value's spellings."""
    groups: dict[str, tuple[str, tuple[Country, ...]]] = {}
    for country in countries():
        for value in country.values(of):
            for name, shown in _spellings(value, of).items():
                before = groups.get(name, (shown, ()))
                groups[name] = (before[0], (*before[1], country))
    return groups


def _spellings(value: str, of: Property) -> dict[str, str]:
    """The keys by which a value may be named, and how it is then written.

    A currency is also named by its last word and in the plural, a language by its first word.
    """
    found = {key_of(value): value}
    if of == "currency":
        last = key_of(value).split()[-1]
        found = {last: last, **found}
        found |= {f"{name}s": shown for name, shown in found.items()}
    if of == "languages":
        found[key_of(value.split(maxsplit=1)[0])] = value
    return found
