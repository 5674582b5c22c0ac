"""What the grammar's rules about numbers mean: arithmetic, percentages, units, comparisons."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from conductor.workers.offline.questions.meanings import quantity
from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.quantity import (
    Quantity,
    Unit,
    measured,
    number_text,
    plain,
    total,
    unit_named,
)

HUNDRED = plain(Fraction(100))


def told(value: Any) -> Answer:
    """A value as the answer; one that was only repeated is none."""
    if not isinstance(value, Quantity):
        raise NotUnderstood("this is no value")
    if value.tight == quantity.GIVEN:
        raise NotUnderstood("nothing is asked")
    shown = value.shown()
    return Answer(shown, (f"{value.how} = {shown}",))


def number(text: str) -> Quantity:
    if re.fullmatch(r"-?\d+\.\d00", text):
        raise NotUnderstood("2.500 may be two and a half, or two thousand five hundred")
    return Quantity(Fraction(text), how=text, tight=quantity.GIVEN)


def part(*words: str) -> Quantity:
    """A fraction in words: a third, 3 quarters."""
    count, name = (int(words[0]) if len(words) > 1 else 1), words[-1].lower().removesuffix("s")
    name = {"halve": "half", "fourth": "quarter", "hundredth": "hundredth"}.get(name, name)
    below = 100 if name == "hundredth" else WORDS["numbers"]["parts"].split().index(name) + 2
    return Quantity(Fraction(count, below), how=f"{count}/{below}", tight=2)


def ordinal(text: str) -> int:
    """The number of "third" or "3rd"."""
    return int(text[:-2]) if text[0].isdigit() else WORDS["numbers"]["ordinals"].split().index(text.lower())


def percent(value: Quantity) -> Quantity:
    if value.base:
        raise NotUnderstood("a percentage of what?")
    return Quantity(Fraction(value.value) / 100, how=f"{value.how}/100", tight=2)


def as_percent(value: Quantity) -> Answer:
    if value.base:
        raise NotUnderstood("this is no ratio")
    shown = number_text(value.value * 100)
    return Answer(f"{shown} %", (f"{value.how} × 100 = {shown} %",))


def ratio(left: Quantity, right: Quantity) -> Answer:
    left.alike(right)
    return as_percent(left / right)


def change(before: Quantity, after: Quantity, sign: int = 1) -> Answer:
    before.alike(after)
    if sign * (after.value - before.value) < 0:
        raise NotUnderstood("it went the other way")
    return as_percent(((after - before) if sign > 0 else (before - after)) / before)


def drop(before: Quantity, after: Quantity) -> Answer:
    return change(before, after, -1)


def increased(value: Quantity, share: Quantity) -> Quantity:
    return value * (plain(Fraction(1)) + share)


def decreased(value: Quantity, share: Quantity) -> Quantity:
    return value * (plain(Fraction(1)) - share)


def interest(value: Quantity, share: Quantity, time: Quantity, *, compound: bool = False) -> Quantity:
    """The interest at a rate for each year; compound interest for whole years."""
    if time.base != _YEAR:
        raise NotUnderstood("a time in years is needed")
    years = Quantity(time.value / 12, how=number_text(time.value / 12), tight=quantity.GIVEN)
    if compound:
        return value * (number("1") + share) ** years.whole - value
    return value * share * years


_YEAR = (("month", 1),)


def power(base: Quantity, exponent: Quantity | int) -> Quantity:
    if base.how.startswith("-"):
        raise NotUnderstood("is the sign raised, too?")
    return base ** (exponent if isinstance(exponent, int) else exponent.whole)


def rounded(value: Quantity, places: int) -> Quantity:
    if value.base:
        raise NotUnderstood("rounded to which unit?")
    step = Fraction(10) ** -places
    number = Fraction(math.floor(Fraction(value.value) / step + Fraction(1, 2))) * step
    return plain(number, f"{value.how}, rounded,")


def remainder(left: Quantity, right: Quantity) -> Quantity:
    if right.value == 0:
        raise NotUnderstood("nothing can be divided by 0")
    return plain(Fraction(left.whole % right.whole), f"{left.how} mod {right.how}")


def factorial(value: Quantity) -> Quantity:
    if not 0 <= value.whole <= 150:
        raise NotUnderstood("no such factorial")
    return plain(Fraction(math.factorial(value.whole)), f"{value.how}!")


def mean(values: list[Quantity]) -> Quantity:
    return total(values) / plain(Fraction(len(values)))


def median(values: list[Quantity]) -> Quantity:
    ordered = sorted(values)
    middle = len(ordered) // 2
    found = ordered[middle] if len(ordered) % 2 else mean(ordered[middle - 1 : middle + 1])
    return Quantity(found.value, found.base, found.units, f"the middle of {_listed(ordered)}")


def mode(values: list[Quantity]) -> Quantity:
    counts = Counter(each.value for each in values).most_common(2)
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        raise NotUnderstood("no single value is the most frequent")
    found = next(each for each in values if each.value == counts[0][0])
    return Quantity(found.value, found.base, found.units, f"the most frequent of {_listed(values)}")


def _extreme(least: bool) -> Callable[[list[Quantity]], Quantity]:
    def found(values: list[Quantity]) -> Quantity:
        each = sorted(values)[0 if least else -1]
        return Quantity(
            each.value,
            each.base,
            each.units[:1],
            f"the {'least' if least else 'greatest'} of {_listed(values)}",
        )

    return found


def _listed(values: list[Quantity]) -> str:
    return ", ".join(each.how for each in values)


def listed(*values: Quantity) -> list[Quantity]:
    for each in values:
        each.alike(values[0])
    return list(values)


def quoted_numbers(text: str) -> list[Quantity]:
    pieces = text.replace(" and ", ",").strip(" .?!").replace(";", ",").split(",")
    pieces = pieces if len(pieces) > 1 else text.strip(" .?!").split()
    try:
        found = [number(piece.strip()) for piece in pieces if piece.strip()]
    except ValueError:
        raise NotUnderstood("these are no numbers") from None
    if len(found) < 2:
        raise NotUnderstood("several numbers are needed")
    return found


def _of_whole(function: Callable[..., int], name: str) -> Callable[[list[Quantity]], Quantity]:
    return lambda values: plain(
        Fraction(function(*(each.whole for each in values))), f"{name}({_listed(values)})"
    )


# -- units ------------------------------------------------------------------------------------------


def converted(target: str, source: tuple[Quantity, str] | Quantity) -> Answer:
    """A quantity in another unit; of units that differ between countries all are named."""
    found: dict[str, Unit] = {}
    given = _given(source)
    shown: dict[str, str] = {}
    for amount, from_kind in given:
        for unit in quantity.units()[target.casefold()]:
            if unit.base != amount.base or (unit.kind and from_kind and unit.kind != from_kind):
                continue
            kinds = dict.fromkeys(filter(None, (from_kind, unit.kind)))
            found[unit.symbol] = unit
            shown[", ".join(kinds)] = (
                amount.shown(unit) if unit.base != _TEMPERATURE else _temperature(amount, unit)
            )
    if not shown:
        raise NotUnderstood("these units do not measure the same thing")
    if "" in shown:
        shown = {"": shown[""]}
    text = "; ".join(f"{value} ({kind})" if kind else value for kind, value in shown.items())
    how = given[0][0].how
    if f"{how}" == text:
        raise NotUnderstood("nothing is asked")
    return Answer(text, (f"{how} = {text}",))


def _given(source: tuple[Quantity, str] | Quantity) -> list[tuple[Quantity, str]]:
    if isinstance(source, Quantity):
        return [(source, "")]
    count, name = source
    return [(measured(count, unit), unit.kind) for unit in quantity.units()[name.casefold()]]


_TEMPERATURE = (("temperature", 1),)
_ZERO = {"°C": Fraction("273.15"), "°F": Fraction("273.15") - 32 * Fraction(5, 9), "K": Fraction(0)}


def _temperature(amount: Quantity, unit: Unit) -> str:
    (source,) = amount.units
    kelvin = amount.value + _ZERO[source.symbol]
    if kelvin < 0:
        raise NotUnderstood("nothing is that cold")
    value = (kelvin - _ZERO[unit.symbol]) / unit.size
    return f"{number_text(value).partition(' (')[2].removesuffix(')') or number_text(value)} {unit.symbol}"


def of_unit(count: Quantity, name: str) -> Quantity:
    return measured(count, unit_named(name))


def quantities(count: Quantity, name: str, more: Quantity, smaller: str) -> Quantity:
    """Two hours and 5 minutes: the second unit is the smaller one."""
    left, right = of_unit(count, name), of_unit(more, smaller)
    if unit_named(smaller).size >= unit_named(name).size:
        raise NotUnderstood("these are two quantities")
    return left + right


def per(count: Quantity, name: str, below: str) -> Quantity:
    unit = unit_named(below)
    return of_unit(count, name) / Quantity(unit.size, unit.base, (unit,), unit.symbol)


def as_fraction(value: Quantity) -> Answer:
    if value.base or isinstance(value.value, float):
        raise NotUnderstood("this is no fraction")
    return Answer(str(value.value), (f"{value.how} = {value.value}",))


def as_decimal(value: Quantity) -> Answer:
    if value.base:
        raise NotUnderstood("this is no plain number")
    text = number_text(value.value)
    return Answer(text.partition(" (")[2].removesuffix(")") or text, (f"{value.how} = {text}",))


# -- comparisons ------------------------------------------------------------------------------------


def _decided(sign: str) -> Callable[[Quantity, Quantity], Answer]:
    def decided(left: Quantity, right: Quantity) -> Answer:
        left.alike(right)
        actual = ">" if left.value > right.value else "<" if left.value < right.value else "="
        fact = f"{left.how} {actual} {right.how}"
        return Answer(f"{'yes' if actual == sign else 'no'}, {fact}", (f"Compared: {fact}",))

    return decided


def _chosen(greater: bool) -> Callable[[Quantity, Quantity], Answer]:
    def found(left: Quantity, right: Quantity) -> Answer:
        left.alike(right)
        if left.value == right.value:
            return Answer("neither, they are equal", (f"{left.how} = {right.how}",))
        pair = sorted((left, right), key=lambda each: each.value)
        return Answer(pair[greater].how, (f"{pair[0].how} < {pair[1].how}",))

    return found


def _choice(least: bool) -> Callable[[list[Quantity]], Answer]:
    return lambda values: Answer(_extreme(least)(values).shown(), (_extreme(least)(values).how,))


def yes_or_no(holds: bool, text: str, otherwise: str) -> Answer:
    return Answer(f"yes, {text}" if holds else f"no, {otherwise}")


RULES: Mapping[str, Callable[..., Any]] = {
    "answer": told, "pi": lambda: quantity.PI, "half": lambda: plain(Fraction(1, 2), "1/2"),
    "and_half": lambda text: plain(Fraction(text) + Fraction(1, 2), f"{text} 1/2"),
    "mixed": lambda whole, top, below: number(whole) + number(top) / number(below),
    "quotient": lambda top, below: number(top) / number(below), "quantity": of_unit,
    "one": lambda name: of_unit(number("1"), name), "unit": str, "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right, "mul": lambda left, right: left * right,
    "div": lambda left, right: left / right, "neg": lambda value: -value, "pow": power,
    "squared": lambda value: power(value, 2), "cubed": lambda value: power(value, 3),
    "root": lambda value: value.root(2), "cube_root": lambda value: value.root(3),
    "reciprocal": lambda value: number("1") / value, "twice": lambda value: number("2") * value,
    "triple": lambda value: number("3") * value, "half_of": lambda value: value / number("2"), "list": listed,
    "total": total, "product": lambda values: math.prod(values[1:], start=values[0]),
    "difference": lambda left, right: max(left, right) - min(left, right),
    "spread": lambda values: max(values) - min(values), "greatest": _extreme(False), "least": _extreme(True),
    "gcd": _of_whole(math.gcd, "gcd"), "lcm": _of_whole(math.lcm, "lcm"),
    "up_down": lambda value, up, down: decreased(increased(value, up), down),
    "down_up": lambda value, down, up: increased(decreased(value, down), up),
    "compound": lambda *parts: interest(*parts, compound=True), "to_whole": lambda: 0, "to_places": int,
    "to_ten": lambda: -1, "to_hundred": lambda: -2, "whole_of": lambda value, share: told(value / share),
    "source": lambda count, name: (count, name), "source_one": lambda name: (number("1"), name),
    "is_greater": _decided(">"), "is_less": _decided("<"), "is_equal": _decided("="),
    "which_greater": _chosen(True), "which_less": _chosen(False), "greatest_a": _choice(False),
    "least_a": _choice(True),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""
