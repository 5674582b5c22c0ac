"""What the grammar's rules about figures mean: areas, volumes, lengths and angles.

A figure is its name and sizes; a formula is taken only where it uses each of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from conductor.workers.offline.questions.meanings.counting import sides_of
from conductor.workers.offline.questions.meanings.meaning import WORDS, Answer, NotUnderstood
from conductor.workers.offline.questions.meanings.numbers import told
from conductor.workers.offline.questions.meanings.quantity import PI, Quantity, number_text, plain

Sizes = tuple[tuple[str, Quantity], ...]


@dataclass(frozen=True)
class Figure:
    """A figure's name, and its sizes by their names, sorted."""

    name: str
    sizes: Sizes


_SIDES = {
    "rectangle": ("side", "side"), "cuboid": ("side", "side", "side"), "right triangle": ("side", "side"),
}  # fmt: skip
_SAME_AS_SIDE = {"length", "width", "height", "base"}


def _named(dimension: str) -> str:
    word, sizes = " ".join(dimension.lower().split()), WORDS["sizes"]
    if word not in sizes and word != "radius":
        word = word.removesuffix("s")
    return str(sizes.get(word, word))


def dimension(name: str, size: Quantity) -> Sizes:
    return ((_named(name), size),)


def dimensions(name: str, *sizes: Quantity) -> Sizes:
    return tuple((_named(name), size) for size in sizes)


def figure(*parts: Any) -> Figure:
    """A figure of its name and the sizes before and behind it."""
    name = next(part for part in parts if isinstance(part, str)).lower()
    sizes = [size for part in parts if not isinstance(part, str) for size in part]
    name = WORDS["figures"].get(name, name)
    if name in _SIDES:
        # Which side is the length makes no difference.
        given = [each for each, _ in sizes]
        if len({each for each in given if each in _SAME_AS_SIDE}) == len(
            [e for e in given if e in _SAME_AS_SIDE]
        ):
            sizes = [("side" if each in _SAME_AS_SIDE else each, size) for each, size in sizes]
    first = sizes[0][1] if sizes else None
    for each, size in sizes:
        if first is not None and size.base != first.base and each not in ("area", "volume"):
            raise NotUnderstood("a length without its unit")
        if size.value <= 0:
            raise NotUnderstood("a length is more than 0")
    return Figure(name, tuple(sorted(sizes, key=lambda each: each[0])))


def _n(value: int) -> Quantity:
    return plain(Fraction(value))


def _triangle(*sides: Quantity) -> Quantity:
    *short, longest = sorted(sides)
    if (short[0] + short[1]).value <= longest.value:
        raise NotUnderstood("these sides make no triangle")
    return sides[0] + sides[1] + sides[2]


_FORMULAS: Mapping[tuple[str, str, tuple[str, ...]], Callable[..., Quantity]] = {
    ("area", "circle", ("radius",)): lambda r: PI * r**2,
    ("area", "circle", ("diameter",)): lambda d: PI * (d / _n(2)) ** 2,
    ("perimeter", "circle", ("radius",)): lambda r: _n(2) * PI * r,
    ("perimeter", "circle", ("diameter",)): lambda d: PI * d,
    ("diameter", "circle", ("radius",)): lambda r: _n(2) * r,
    ("radius", "circle", ("diameter",)): lambda d: d / _n(2),
    ("radius", "circle", ("perimeter",)): lambda c: c / (_n(2) * PI),
    ("diameter", "circle", ("perimeter",)): lambda c: c / PI,
    ("radius", "circle", ("area",)): lambda a: (a / PI).root(2),
    ("area", "square", ("side",)): lambda a: a**2, ("perimeter", "square", ("side",)): lambda a: _n(4) * a,
    ("diagonal", "square", ("side",)): lambda a: _n(2).root(2) * a,
    ("side", "square", ("area",)): lambda a: a.root(2),
    ("side", "square", ("perimeter",)): lambda p: p / _n(4),
    ("perimeter", "square", ("area",)): lambda a: _n(4) * a.root(2),
    ("area", "square", ("perimeter",)): lambda p: (p / _n(4)) ** 2,
    ("area", "rectangle", ("side", "side")): lambda a, b: a * b,
    ("perimeter", "rectangle", ("side", "side")): lambda a, b: _n(2) * (a + b),
    ("diagonal", "rectangle", ("side", "side")): lambda a, b: (a**2 + b**2).root(2),
    ("area", "triangle", ("base", "height")): lambda a, b: a * b / _n(2),
    ("area", "right triangle", ("side", "side")): lambda a, b: a * b / _n(2),
    ("hypotenuse", "right triangle", ("side", "side")): lambda a, b: (a**2 + b**2).root(2),
    ("perimeter", "triangle", ("side", "side", "side")): _triangle,
    ("perimeter", "equilateral triangle", ("side",)): lambda a: _n(3) * a,
    ("area", "equilateral triangle", ("side",)): lambda a: _n(3).root(2) / _n(4) * a**2,
    ("area", "parallelogram", ("base", "height")): lambda a, b: a * b,
    ("area", "trapezoid", ("base", "base", "height")): lambda a, b, h: (a + b) / _n(2) * h,
    ("volume", "cube", ("side",)): lambda a: a**3, ("surface", "cube", ("side",)): lambda a: _n(6) * a**2,
    ("volume", "cuboid", ("side", "side", "side")): lambda a, b, c: a * b * c,
    ("surface", "cuboid", ("side", "side", "side")): lambda a, b, c: _n(2) * (a * b + a * c + b * c),
    ("volume", "sphere", ("radius",)): lambda r: _n(4) / _n(3) * PI * r**3,
    ("volume", "sphere", ("diameter",)): lambda d: PI * d**3 / _n(6),
    ("surface", "sphere", ("radius",)): lambda r: _n(4) * PI * r**2,
    ("volume", "cylinder", ("height", "radius")): lambda h, r: PI * r**2 * h,
    ("volume", "cylinder", ("diameter", "height")): lambda d, h: PI * (d / _n(2)) ** 2 * h,
    ("volume", "cone", ("height", "radius")): lambda h, r: PI * r**2 * h / _n(3),
}  # fmt: skip


def measured(measure: str, of: Figure) -> Quantity:
    """A measure of a figure; raises `NotUnderstood` where its sizes are too few or too many."""
    measure = WORDS["measures"].get(measure.lower(), measure.lower())
    sizes = tuple(("perimeter" if name == "circumference" else name, size) for name, size in of.sizes)
    formula = _FORMULAS.get((measure, of.name, tuple(name for name, _ in sizes)))
    if formula is None:
        raise NotUnderstood("no formula fits")
    return formula(*(size for _, size in sizes))


def third_angle(first: Quantity, second: Quantity) -> Answer:
    found = _n(180) - first - second
    if found.value <= 0 or first.base or second.base:
        raise NotUnderstood("these angles make no triangle")
    return Answer(f"{number_text(found.value)} degrees", (f"{found.how} = {number_text(found.value)}",))


def angle_sum(name: str) -> Answer:
    sides = sides_of(name)
    return Answer(f"{(sides - 2) * 180} degrees", (f"({sides} - 2) × 180 = {(sides - 2) * 180}",))


RULES: Mapping[str, Callable[..., Any]] = {
    "measure": str, "dimension_p": lambda size, name: dimension(name, size),
    "dimensions_p": lambda left, right, name: dimensions(name, left, right),
    "by": lambda *sizes: tuple(("side", size) for size in sizes),
    "sizes": lambda *sizes: tuple(size for each in sizes for size in each), "measured_figure": measured,
    "figure_answer": lambda measure, of: told(measured(measure, of)),
    "figure_said_answer": lambda of, measure, again="": _said(of, measure, again), "figure_again": str,
    "figure_diagonal": lambda of: told(measured("diagonal", of)),
}  # fmt: skip
"""What each rule means, by its name in the grammar."""


def _said(of: Figure, measure: str, again: str) -> Answer:
    if again and WORDS["figures"].get(again.lower(), again.lower()) not in (
        of.name,
        of.name.removeprefix("right "),
    ):
        raise NotUnderstood("another figure is asked about")
    return told(measured(measure, of))
