"""The shipped table of countries and how a text names them.

Knows the table of `countries.csv` (the 193 members of the United Nations and its two observer
states) and spelling; not what is asked.
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

Property = Literal["capital", "continent", "currency", "languages"]
PROPERTIES: tuple[Property, ...] = ("capital", "continent", "currency", "languages")


@dataclass(frozen=True)
class Country:
    """A country, its other names, and the text of each property in the table; `;` parts several values."""

    name: str
    aliases: tuple[str, ...]
    properties: Mapping[str, str]

    def values(self, of: Property) -> tuple[str, ...]:
        """The values of a property, one by one and without the text in brackets behind them."""
        return tuple(re.split(r"; ?", re.sub(r" \([^()]*\)", "", self.properties[of])))

    def text(self, of: Property) -> str:
        """A property as text."""
        return self.properties[of].replace(";", ", ") if of == "languages" else self.properties[of]


@cache
def countries() -> tuple[Country, ...]:
    """All countries of the table, in its order."""
    with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Country(row.pop("name"), tuple(filter(None, row.pop("aliases").split(";"))), row)
            for row in csv.DictReader(file)
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


def having(text: str, of: Property) -> Mapping[str, tuple[str, tuple[Country, ...]]]:
    """Each value of a property that a text names, by its key: how it is written, and who has it."""
    named = [name for name in _names_in(text, index=_by_value(of)) if name in _by_value(of)]
    return {name: _by_value(of)[name] for name in named}


_LONGEST_NAME = 7
_CASED = {"us", "emirates", "georgia", "chad", "jordan", "turkey", "niger"}
"""Names that are also words: they count only when written with a capital letter, US in capitals."""


def _names_in(text: str, *, index: Mapping[str, object] | None = None) -> list[str]:
    """Longest known names (of countries and capitals, or of `index`) from left to right."""
    known = index if index is not None else _known_names()
    written = _words(text)
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


def words_beside(text: str, *, values: Collection[str] = ()) -> list[str]:
    """The words of a text, as keys, without the countries that it names and these `values`.

    A word in another script is itself.
    """
    rest = f" {' '.join(key_of(word) or word for word in _words(text))} "
    for name in (*(name for name in _names_in(text) if name in _by_name()), *values):
        rest = rest.replace(f" {name} ", " ", 1)
    return rest.split()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _joined(re.sub(r"\bU\.\s?S\.(?:\s?A\.)?", "US", text)))


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
    found = {key_of(_joined(value)): value, key_of(value): value}
    if of == "currency":
        last = key_of(value).split()[-1]
        found = {last: last, **found}
        found |= {f"{name}s": shown for name, shown in found.items()}
    if of == "languages":
        found[key_of(value.split(maxsplit=1)[0])] = value
    return found
