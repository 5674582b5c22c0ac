"""Numbers with units: exact as long as they can be, with the way in which they were computed.

Knows the shipped table of units and how values are written; not how questions name them.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, reduce
from operator import add
from pathlib import Path

from conductor.workers.offline.questions.meanings.meaning import NotUnderstood

MAX_DIGITS = 400
"""The most digits of a number that is computed here."""

Base = tuple[tuple[str, int], ...]
"""The base units of a value and their powers, sorted, such as (("m", 1), ("s", -1))."""


@dataclass(frozen=True)
class Unit:
    """A unit: how it is written after 1 and after other numbers, its size in base units, and which of
    several units of one name it is ("US").
    """

    symbol: str
    plural: str
    size: Fraction
    base: Base
    kind: str = ""


@cache
def units() -> Mapping[str, tuple[Unit, ...]]:
    """The units that each name may mean, in lower case, singular and plural."""
    found: dict[str, tuple[Unit, ...]] = defaultdict(tuple)
    with Path(__file__).with_name("units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = Unit(
                row["symbol"], row["plural"], Fraction(row["factor"]), _base(row["base"]), row["kind"]
            )
            words = [name for name in row["names"].split(";") if name]
            plurals = [f"{word}s" for word in words if len(word) > 2]
            for name in dict.fromkeys((unit.symbol, unit.plural, *words, *plurals)):
                found[name.casefold()] += (unit,)
    return found


def unit_named(name: str) -> Unit:
    """The one unit of a name, where several kinds have it the one without a kind; raises `NotUnderstood`."""
    plain = [unit for unit in units()[name.casefold()] if not unit.kind]
    if not plain:
        raise NotUnderstood(f"a {name} is not the same everywhere")
    return plain[0]


def _base(text: str) -> Base:
    over, _, under = text.partition("/")
    powers = [(over, 1), (under, -1)]
    split = ((each.partition("^"), sign) for each, sign in powers if each)
    return tuple(sorted((name, sign * int(power or 1)) for (name, _, power), sign in split))


@dataclass(frozen=True)
class Quantity:
    """A value in base units, its units as they were named, and how it was computed.

    `tight` is how strongly the signs in `how` bind: 1 for +, 2 for ×, 3 for a function, 4 for a value that
    was given and not computed.
    """

    value: Fraction | float
    base: Base = ()
    units: tuple[Unit, ...] = field(default=(), compare=False)
    how: str = field(default="", compare=False)
    tight: int = field(default=3, compare=False)

    def __add__(self, other: Quantity) -> Quantity:
        return self._same(other, self.value + other.value, "+")

    def __sub__(self, other: Quantity) -> Quantity:
        return self._same(other, self.value - other.value, "-")

    def __mul__(self, other: Quantity) -> Quantity:
        return self._scaled(other, self.value * other.value, "×", 1)

    def __truediv__(self, other: Quantity) -> Quantity:
        if other.value == 0:
            raise NotUnderstood("nothing can be divided by 0")
        return self._scaled(other, self.value / other.value, "/", -1)

    def __pow__(self, power: int) -> Quantity:
        if abs(power) * max(1.0, _digits(self.value)) > MAX_DIGITS or (power < 0 and self.value == 0):
            raise NotUnderstood("the power is too large")
        base = tuple((name, count * power) for name, count in self.base) if power else ()
        return Quantity(self.value**power, base, self.units, f"{self._inside(3)}^{power}", 2)

    def __neg__(self) -> Quantity:
        return replace(self, value=-self.value, how=f"-{self._inside(3)}", tight=2)

    def __lt__(self, other: Quantity) -> bool:
        self.alike(other)
        return self.value < other.value

    @property
    def whole(self) -> int:
        """The number, if it is whole and without a unit; raises `NotUnderstood`."""
        if self.base or self.value != int(self.value):
            raise NotUnderstood("a whole number is needed")
        return int(self.value)

    def root(self, degree: int) -> Quantity:
        """The square or cube root, exact where it is rational; raises `NotUnderstood` of a negative value."""
        if self.value < 0 or any(count % degree for _, count in self.base):
            raise NotUnderstood("no real root")
        base = tuple((name, count // degree) for name, count in self.base)
        return Quantity(_root(self.value, degree), base, self.units, f"{_ROOTS[degree]}({self.how})")

    def alike(self, other: Quantity) -> None:
        """Raises `NotUnderstood` for a value of another kind, and for temperatures, which are points."""
        if self.base != other.base or self.base == _TEMPERATURE:
            raise NotUnderstood("these are not of one kind")

    def _same(self, other: Quantity, value: Fraction | float, sign: str) -> Quantity:
        self.alike(other)
        how = f"{self._inside(1)} {sign} {other._inside(2 if sign == '-' else 1)}"
        return Quantity(value, self.base, _united(self.units, other.units), how, 1)

    def _scaled(self, other: Quantity, value: Fraction | float, sign: str, power: int) -> Quantity:
        if _TEMPERATURE in (self.base, other.base):
            raise NotUnderstood("temperatures are points of a scale")
        powers = dict(self.base)
        for name, count in other.base:
            powers[name] = powers.get(name, 0) + power * count
        base = tuple(sorted((name, count) for name, count in powers.items() if count))
        sign = "/" if power < 0 and self.tight == other.tight == GIVEN and not self.base else f" {sign} "
        how = f"{self._inside(2)}{sign}{other._inside(3 if power < 0 else 2)}"
        return Quantity(value, base, _united(self.units, other.units), how, 2)

    def _inside(self, tight: int) -> str:
        return self.how if self.tight >= tight else f"({self.how})"

    def shown(self, unit: Unit | None = None) -> str:
        """The value in `unit`, else in a unit of the question; raises `NotUnderstood` where none fits."""
        symbol, plural, size = (
            ("", "", Fraction(1)) if not self.base and unit is None else self._measured(unit)
        )
        number = number_text(self.value / size)
        return f"{number} {symbol if number == '1' else plural}".rstrip()

    def _measured(self, unit: Unit | None) -> tuple[str, str, Fraction]:
        if unit is not None:
            if unit.base != self.base:
                raise NotUnderstood("these are not of one kind")
            return unit.symbol, unit.plural, unit.size
        for each in self.units:
            if each.base == self.base:
                return each.symbol, each.plural, each.size
        for each in self.units:
            for power in (2, 3):
                if tuple((name, count * power) for name, count in each.base) == self.base:
                    return f"{each.symbol}^{power}", f"{each.plural}^{power}", each.size**power
        for over in self.units:
            for under in self.units:
                ratio = Quantity(Fraction(1), over.base) / Quantity(Fraction(1), under.base)
                if ratio.base == self.base:
                    name = f"{over.plural}/{under.symbol}"
                    return name, name, over.size / under.size
        raise NotUnderstood("no unit of the question measures this")


_TEMPERATURE: Base = (("temperature", 1),)
_ROOTS = {2: "sqrt", 3: "cbrt"}
GIVEN = 4
PI = Quantity(math.pi, how="pi")


def plain(number: Fraction | float, how: str = "") -> Quantity:
    """A number without a unit."""
    return Quantity(number, how=how or number_text(number).removeprefix("about "), tight=3 if how else GIVEN)


def measured(number: Quantity, unit: Unit) -> Quantity:
    """So many of a unit."""
    name = unit.symbol if number.value == 1 else unit.plural
    over, slash, under = {"mph": "mi/h"}.get(unit.symbol, unit.symbol).partition("/")
    parts = (unit, *units()[over.casefold()], *units()[under.casefold()]) if slash else (unit,)
    return Quantity(number.value * unit.size, unit.base, parts, f"{number.how} {name}", number.tight)


def total(values: Iterable[Quantity]) -> Quantity:
    """The sum of one or more values."""
    return reduce(add, values)


def _united(left: tuple[Unit, ...], right: tuple[Unit, ...]) -> tuple[Unit, ...]:
    return tuple(dict.fromkeys((*left, *right)))


def _digits(value: Fraction | float) -> float:
    top, bottom = value.as_integer_ratio()
    return math.log10(max(abs(top), bottom)) if value else 0.0


def _root(value: Fraction | float, degree: int) -> Fraction | float:
    if isinstance(value, Fraction) and max(value.numerator, value.denominator) < 10**15:
        top, bottom = (round(part ** (1 / degree)) for part in value.as_integer_ratio())
        if Fraction(top, bottom) ** degree == value:
            return Fraction(top, bottom)
    return math.pow(value, 1 / degree)


# -- writing ----------------------------------------------------------------------------------------

PLACES = 12
DIGITS = 7


def number_text(value: Fraction | float) -> str:
    """A number: whole, as a decimal that ends, or a fraction or rounded and marked so."""
    if isinstance(value, float):
        return f"about {_rounded(value)}"
    places = next((at for at in range(PLACES) if 10**at % value.denominator == 0), None)
    if places is None:
        small = value.denominator <= 1000 and abs(value.numerator) <= 10_000
        return f"{value} (about {_rounded(float(value))})" if small else f"about {_rounded(float(value))}"
    sign, digits = "-" if value < 0 else "", str(abs(value) * 10**places).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _rounded(value: float) -> str:
    if not math.isfinite(value):
        raise NotUnderstood("the number is too large")
    places = DIGITS - 1 - math.floor(math.log10(abs(value))) if value else 0
    if not -9 < places < 15:
        return f"{value:.{DIGITS - 1}g}"
    return (
        f"{round(value, places):.{max(places, 0)}f}".rstrip("0").rstrip(".") if places > 0 else f"{value:.0f}"
    )
