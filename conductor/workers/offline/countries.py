"""The shipped table of countries and how a text names them.

Knows the table of `countries.csv` (the 193 members of the United Nations and its two observer
states) and spelling; not what is asked.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Property = Literal["capital", "continent", "currency", "languages"]
PROPERTIES: tuple[Property, ...] = ("capital", "continent", "currency", "languages")


@dataclass(frozen=True)
class Country:
    """A country and the four things known of it; `capital` and `currency` are None where there is none."""

    name: str
    aliases: tuple[str, ...]
    capital: str
    continent: str
    currency: str
    languages: tuple[str, ...]

    def values(self, of: Property) -> tuple[str, ...]:
        """The values of a property, each by itself."""
        match of:
            case "capital":
                return tuple(re.sub(r" \(.*\)", "", each) for each in self.capital.split("; "))
            case "continent":
                return (self.continent,)
            case "currency":
                return (self.currency,)
            case "languages":
                return self.languages

    def told(self, of: Property) -> str:
        """A property as text."""
        return ", ".join(self.languages) if of == "languages" else str(getattr(self, of))


@cache
def countries() -> tuple[Country, ...]:
    """All countries of the table, in its order."""
    with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_country(row) for row in csv.DictReader(file))


def _country(row: Mapping[str, str]) -> Country:
    return Country(
        name=row["name"],
        aliases=tuple(filter(None, row["aliases"].split(";"))),
        capital=row["capital"],
        continent=row["continent"],
        currency=row["currency"],
        languages=tuple(row["languages"].split(";")),
    )


def key_of(name: str) -> str:
    """A name for comparing: lower case, no accents, words parted by one space."""
    plain = unicodedata.normalize("NFKD", name.replace("đ", "d").replace("ł", "l")).casefold()
    return " ".join(re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c))))


def named_countries(text: str) -> tuple[Country, ...]:
    """The countries a text names, in order of first mention; capitals are not taken for countries."""
    found: dict[str, Country] = {}
    for name in _names_in(text):
        if (country := _by_name().get(name)) is not None:
            found.setdefault(country.name, country)
    return tuple(found.values())


def having(text: str, of: Property) -> tuple[tuple[str, tuple[Country, ...]], ...]:
    """Each value of a property that a text names, with the countries that have it."""
    named = [name for name in _names_in(text, index=_by_value(of)) if name in _by_value(of)]
    return tuple(_by_value(of)[name] for name in dict.fromkeys(named))


_LONGEST_NAME = 7
_CASED = {"us", "emirates", "georgia", "chad", "jordan", "turkey", "niger"}
"""Names that are also words: they count only when written with a capital letter, US in capitals."""


def _names_in(text: str, *, index: Mapping[str, object] | None = None) -> list[str]:
    """Longest known names (of countries and capitals, or of `index`) from left to right."""
    known = index if index is not None else _known_names()
    raw = re.sub(r"\bU\.\s?S\.(?:\s?A\.)?", "US", text)
    written = re.findall(r"[^\W_]+", _joined(raw))
    keys = {word: key_of(word) for word in set(written)}
    words = [keys[word] for word in written]
    begins = {name.split(" ")[0] for name in known}
    names: list[str] = []
    at = 0
    while at < len(words):
        if words[at].split(" ")[0] not in begins:
            at += 1
            continue
        for length in range(min(_LONGEST_NAME, len(words) - at), 0, -1):
            name = " ".join(words[at : at + length])
            if name in known and (name not in _CASED or _cased(name, written[at])):
                names.append(name)
                at += length
                break
        else:
            at += 1
    return names


def _joined(text: str) -> str:
    """The text without possessives, which would hide a name: France's."""
    return re.sub(r"['’]s\b", "", text)


def _cased(name: str, written: str) -> bool:
    return written == "US" if name == "us" else written[:1].isupper()


@cache
def _by_name() -> Mapping[str, Country]:
    named = [(name, country) for country in countries() for name in (country.name, *country.aliases)]
    return {key_of(spelled): country for name, country in named for spelled in (name, _joined(name))}


@cache
def _known_names() -> Mapping[str, object]:
    capitals = {key_of(capital): None for country in countries() for capital in country.values("capital")}
    return {**capitals, **_by_name()}


@cache
def _by_value(of: Property) -> Mapping[str, tuple[str, tuple[Country, ...]]]:
    """The countries that have a value, by the value's key; a currency also by its last word."""
    groups: dict[str, tuple[str, tuple[Country, ...]]] = {}
    for country in countries():
        for value in country.values(of):
            for name, shown in _spellings(value, of):
                before = groups.get(name, (shown, ()))
                groups[name] = (before[0], (*before[1], country))
    return groups


_SPELLINGS: Mapping[Property, Callable[[str], dict[str, str]]] = {
    "capital": lambda value: {key_of(_joined(value)): value, key_of(value): value},
    "continent": lambda value: {key_of(value): value},
    "currency": lambda value: {key_of(value).split()[-1]: key_of(value).split()[-1], key_of(value): value},
    "languages": lambda value: {key_of(value): value, key_of(value.split()[0]): value},
}


def _spellings(value: str, of: Property) -> list[tuple[str, str]]:
    spellings = _SPELLINGS[of](value)
    plurals = {f"{name}s": shown for name, shown in spellings.items()} if of == "currency" else {}
    return list({**spellings, **plurals}.items())
