"""The shipped table of units, and a quantity written in one of them.

Knows units that mean one thing everywhere: a cup, a gallon or a ton differ between countries and are left
out, as is the year in days.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sympy as sp

from conductor.workers.offline.mathematics.formula import Node


@dataclass(frozen=True)
class Unit:
    """A unit: how it is written after 1 and after other numbers, its size in base units, SymPy symbols."""

    symbol: str
    plural: str
    size: sp.Expr


@cache
def units() -> Mapping[str, Unit]:
    """Every unit by each of its names, in lower case, singular and plural."""
    found: dict[str, Unit] = {}
    with Path(__file__).with_name("units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = Unit(row["symbol"], row["plural"], sp.Rational(row["factor"]) * _base(row["base"]))
            words = [name for name in row["names"].split(";") if name]
            plurals = [f"{word}s" for word in words if len(word) > 2]
            for name in (unit.symbol, unit.plural, *words, *plurals):
                found[name.lower()] = unit
    return found


def _base(text: str) -> sp.Expr:
    """Base units such as m/s or m^2."""
    found = re.findall(r"(/?)([a-zA-Z]+)(?:\^(\d))?", text)
    powers = ((base, int(power or 1) * (-1 if below else 1)) for below, base, power in found)
    return sp.Mul(*(sp.Symbol(base, positive=True) ** power for base, power in powers))


UNIT = rf"(?:{'|'.join(map(re.escape, sorted(units(), key=len, reverse=True)))})(?![a-z^])"
"""A regular expression of the units' names, to be read without regard to case."""

_QUANTITY = re.compile(rf"(?<![a-z\d.])(\d[\d.]*+|an?(?=\s))\s*+({UNIT})", re.IGNORECASE)
_MIXED = re.compile(r"(\[(?:week|day|h|min|ft|lb|year)\]),? (?:and )?(?=[\d.]+ \[)")


def marked_quantities(text: str) -> str:
    """A formula with each "5 kilometres" as the quantity 5 [km], and "2 hours 5 minutes" as a sum of two."""

    def marked(match: re.Match[str]) -> str:
        number = match[1] if match[1][0].isdigit() else "1"
        return f"{number} [{units()[match[2].lower()].symbol}]"

    return _MIXED.sub(r"\1 + ", _QUANTITY.sub(marked, text))


def units_in(node: Node) -> list[str]:
    """The symbols of the units in a formula, from left to right."""
    return [each.text for each in node.walk() if each.kind == "quantity"]


def in_unit(value: sp.Expr, symbols: Sequence[str]) -> tuple[sp.Expr, str] | None:
    """A value in base units as a number of the first unit that measures it, None where none does.

    Tried are no unit at all (the symbol ""), the units `symbols` and their parts (km and h of
    km/h), the quotients of two of them, and their squares and cubes.
    """
    parts = [part for symbol in symbols for part in symbol.split("/")]
    given = {each: units()[each.lower()].size for each in (*symbols, *parts) if each.lower() in units()}
    tried = {"": sp.Integer(1), **given}
    tried |= {f"{left}/{right}": given[left] / given[right] for left in given for right in given}
    tried |= {f"{symbol}^{power}": given[symbol] ** power for symbol in given for power in (2, 3)}
    for symbol, size in tried.items():
        if not (value / size).free_symbols:
            return value / size, symbol
    return None
