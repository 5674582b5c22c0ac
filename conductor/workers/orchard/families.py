"""The orchard's questions: nine families, how they are asked, and the right answer to each.

Knows the table of countries; knows no worker and no plan. How a question is read back from its text is in
`reading.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from conductor.workers.orchard.countries import (
    Country,
    Property,
    capital_country,
    countries,
    country_named,
    named_countries,
)

Family = Literal[
    "fact",
    "word",
    "sum",
    "long-sum",
    "capital-letters",
    "letters-sum",
    "hop",
    "capital-letters-sum",
    "two-capitals",
]
FAMILIES: tuple[Family, ...] = get_args(Family)

STEPS: Mapping[Family, int] = {
    "fact": 1, "word": 1, "sum": 1, "long-sum": 2, "capital-letters": 2, "letters-sum": 2, "hop": 2,
    "capital-letters-sum": 3, "two-capitals": 3,
}  # fmt: skip
"""How many steps a question of the family needs."""

COUNTRY_PROPERTIES: tuple[Property, ...] = ("capital", "currency", "continent")
"""The properties of countries that are asked for."""

WORDS = tuple(
    "harbour orchestra lantern bridge violin meadow engine planet candle window forest ribbon silver thunder "
    "garden pepper marble anchor blanket compass feather kitchen library mirror needle parcel quarter rocket "
    "saddle teapot umbrella velvet walnut yellow zephyr".split()
)

Slots = Mapping[str, str]


def chance(*key: str) -> float:
    """A fixed number in [0, 1) for this key: what is random here is the same each time it is asked."""
    return int.from_bytes(sha256("\x1f".join(key).encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48


def letter_count(text: str) -> int:
    """How many letters a text has; neither spaces nor marks."""
    return sum(map(str.isalpha, text))


@cache
def grown_countries() -> tuple[Country, ...]:
    """The countries that are asked for: a plain name that is one whole, one currency, and a capital that is
    no country's name and no other's capital.
    """
    plain = [
        country
        for country in countries()
        if all(re.fullmatch(r"[A-Za-z ]+", each) for each in (country.name, country.properties["capital"]))
        and re.fullmatch(r"[A-Za-z ]+", country.properties["currency"])
        and re.fullmatch(r"[A-Za-z ]+", country.properties["continent"])
        # By name: two threads that read the table at once have two values of a country.
        and [named.name for named in named_countries(country.name)] == [country.name]
        and " and " not in country.name
        and not named_countries(country.properties["capital"])
    ]
    uses = Counter(country.properties["capital"] for country in plain)
    return tuple(country for country in plain if uses[country.properties["capital"]] == 1)


def right_answer(family: Family, slots: Slots) -> str:
    """The right answer, computed from what is asked. The slots are those of a wording of the family."""
    match family:
        case "fact" | "hop":
            country = _country(slots["country"]) if family == "fact" else _with_capital(slots["capital"])
            return country.properties[slots["property"]]
        case "word" | "capital-letters":
            return str(_letters(slots))
        case "letters-sum" | "capital-letters-sum":
            return str(_letters(slots) * int(slots["b"]) + int(slots["c"]))
        case "two-capitals":
            return str(_letters(slots) + letter_count(_country(slots["other"]).properties["capital"]))
        case "sum" | "long-sum":
            short = int(slots["a"]) * int(slots["b"]) + int(slots["c"]) * int(slots.get("d", "1"))
            return str(short - int(slots.get("e", "0")))


def _letters(slots: Slots) -> int:
    return letter_count(
        slots["word"] if "word" in slots else _country(slots["country"]).properties["capital"]
    )


def _country(name: str) -> Country:
    country = country_named(name)
    assert country is not None, "slots name countries of the table"
    return country


def _with_capital(name: str) -> Country:
    match = capital_country(name)
    assert match is not None, "slots name capitals of the table"
    return match[1]


@cache
def wordings() -> Mapping[Family, tuple[str, ...]]:
    """How each family is asked, with slots in braces."""
    with Path(__file__).with_name("wordings.toml").open("rb") as file:
        lists = tomllib.load(file)
    return {family: tuple(lists[family]) for family in FAMILIES}
