"""The shipped table of units, and a quantity written in one of them.

Knows units that mean one thing everywhere: a cup, a gallon or a ton differ between countries and are left
out, as is the year in days.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import sympy as sp

from conductor.workers.offline.mathematics.formula import Node


@dataclass(frozen=True)
class Unit:
    """A unit: how it is written after 1 and after other numbers, its size as `factor` times base units."""

    symbol: str
    plural: str
    factor: Fraction
    base: str


@cache
def units() -> Mapping[str, Unit]:
    """Every unit by each of its names, in lower case, singular and plural."""
    found: dict[str, Unit] = {}
    with Path(__file__).with_name("units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            above, _, below = row["factor"].partition("/")
            unit = Unit(row["symbol"], row["plural"], Fraction(above) / Fraction(below or 1), row["base"])
            words = [name for name in row["names"].split(";") if name]
            plurals = [f"{word}s" for word in words if len(word) > 2]
            for name in (unit.symbol, unit.plural, *words, *plurals):
                found[name.lower()] = unit
    return found


def _pattern() -> str:
    names = sorted(units(), key=len, reverse=True)
    return rf"(?:{'|'.join(map(re.escape, names))})(?![a-z^])"


UNIT = _pattern()
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
    own = [node.text] if node.kind == "quantity" else []
    return own + [symbol for part in node.parts for symbol in units_in(part)]


@cache
def sizes() -> Mapping[str, sp.Expr]:
    """The value of each unit by its symbol: a number times base units, which are SymPy symbols."""
    return {unit.symbol: _size(unit) for unit in units().values()}


def _size(unit: Unit) -> sp.Expr:
    size = sp.Rational(unit.factor.numerator, unit.factor.denominator)
    for below, base, power in re.findall(r"(/?)([a-zA-Z]+)(?:\^(\d))?", unit.base):
        size *= sp.Symbol(base) ** (int(power or 1) * (-1 if below else 1))
    return size


def in_unit(value: sp.Expr, symbols: Sequence[str]) -> tuple[sp.Expr, str] | None:
    """A value in base units as a number of the first unit that measures it, None where none does.

    Tried are no unit at all (the symbol ""), the units `symbols` and their parts (km and h of
    km/h), the quotients of two of them, and their squares and cubes.
    """
    known = sizes()
    parts = [part for symbol in symbols for part in symbol.split("/") if part in known]
    given = list(dict.fromkeys([*symbols, *parts]))
    tried = {"": sp.Integer(1), **{symbol: known[symbol] for symbol in given}}
    tried |= {f"{left}/{right}": known[left] / known[right] for left in given for right in given}
    tried |= {f"{symbol}^{power}": known[symbol] ** power for symbol in given for power in (2, 3)}
    for symbol, size in tried.items():
        if not (value / size).free_symbols:
            return value / size, symbol
    return None
