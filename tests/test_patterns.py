"""No regular expression of the product tries ever more ways to read a text.

For every repeat in a pattern, texts are made up that lead to it, pass it again and again, and then fail.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from random import Random
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.support.cases.reading_work import patience

PACKAGES = ("conductor", "studio", "pages.components", "storage.database", "storage.search", "storage.store")
"""Without what runs where it is imported: pages, and the migrations."""
OFTEN = 8
"""A repeat of fewer is tried only as part of what stands around it."""

TIMES, TRIES = 60, 3
"""Where ways double with each time, 60 are more than any machine tries."""

ENDS = ("", "!", "\n", "\x00")
CATEGORIES = {
    ops.CATEGORY_DIGIT: "1", ops.CATEGORY_NOT_DIGIT: "a", ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: "a", ops.CATEGORY_WORD: "a", ops.CATEGORY_NOT_WORD: " ",
}  # fmt: skip
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def patterns() -> dict[str, re.Pattern[str]]:
    """All that are constants of a module, alone or in a table, by their place."""
    by_place: dict[str, re.Pattern[str]] = {}

    def add(value: object, place: str) -> None:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            by_place.setdefault(place, value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                add(inner, f"{place}[{key!r}]") if not isinstance(inner, dict) else None
        elif isinstance(value, tuple | list):
            for at, inner in enumerate(value):
                add(inner, f"{place}[{at}]") if isinstance(inner, re.Pattern) else None

    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            try:
                loaded = importlib.import_module(module.name)
            except ImportError:
                continue  # an extra that is not installed
            for name, value in vars(loaded).items():
                add(value, f"{module.name}.{name}")
    return by_place


def texts(pattern: re.Pattern[str], random: Random) -> Iterator[str]:
    """Texts that lead to each repeat of the pattern, and pass it often."""
    yield from _to_repeats(parser.parse(pattern.pattern, pattern.flags), "", random, {})


def _to_repeats(
    nodes: Any, before: str, random: Random, groups: dict[int, str], within: int = 0
) -> Iterator[str]:
    for op, value in nodes:
        if op in REPEATS:
            _, most, body = value
            if most >= OFTEN:
                for _ in range(TRIES):
                    # Several ways through the body in turn, and one alone.
                    ways = [_sample(body, random, groups) for _ in range(random.choice((1, 1, 2, 3)))]
                    yield before + "".join(ways[at % len(ways)] for at in range(TIMES))
            yield from _to_repeats(body, before, random, groups)
        elif op is ops.SUBPATTERN:
            yield from _to_repeats(value[-1], before, random, groups)
        elif op is ops.ATOMIC_GROUP:
            yield from _to_repeats(value, before, random, groups)
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from _to_repeats(branch, before, random, groups)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _to_repeats(value[1], before, random, groups)
        before += _sample([(op, value)], random, groups)


def _sample(nodes: Any, random: Random, groups: dict[int, str]) -> str:
    """A text that the nodes match, looks around aside."""
    text = ""
    for op, value in nodes:
        if op is ops.LITERAL:
            text += chr(value)
        elif op is ops.NOT_LITERAL:
            text += "b" if chr(value) == "a" else "a"
        elif op is ops.ANY:
            text += random.choice("a .")
        elif op is ops.IN:
            text += _one_of(value, random)
        elif op is ops.BRANCH:
            text += _sample(random.choice(value[1]), random, groups)
        elif op is ops.SUBPATTERN:
            inner = _sample(value[-1], random, groups)
            groups[value[0]] = inner
            text += inner
        elif op is ops.ATOMIC_GROUP:
            text += _sample(value, random, groups)
        elif op is ops.GROUPREF:
            text += groups.get(value, "")
        elif op in REPEATS:
            least, most, body = value
            times = random.randint(least, max(least, min(most, least + 2)))
            text += "".join(_sample(body, random, groups) for _ in range(times))
    return text


def _one_of(members: Any, random: Random) -> str:
    op, value = members[0]
    if op is ops.NEGATE:
        one = re.compile("[^" + "".join(_as_written(member) for member in members[1:]) + "]")
        return next((char for char in random.sample('a1 b_-.\n"é', 10) if one.match(char)), "\u2003")
    op, value = random.choice(members)
    if op is ops.RANGE:
        return chr(random.randint(*value))
    return CATEGORIES.get(value, "a") if op is ops.CATEGORY else chr(value)


def _as_written(member: Any) -> str:
    op, value = member
    if op is ops.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if op is ops.CATEGORY:
        return {"1": r"\d", " ": r"\s", "a": r"\w"}[CATEGORIES[value]]
    return re.escape(chr(value))


def search(patterns: dict[str, re.Pattern[str]], *, seconds: float) -> None:
    """Search the texts that are made up for each; fails where one takes so many seconds of the processor."""
    for place, pattern in patterns.items():
        for text in texts(pattern, Random(1)):
            for end in ENDS:
                with patience(seconds, place):
                    pattern.search(text + end)
                    pattern.fullmatch(text + end)


@pytest.mark.slow
@pytest.mark.thorough
def test_no_pattern_of_the_product_tries_ever_more_ways_to_read_a_text() -> None:
    table = patterns()
    assert len(table) > 150
    search(table, seconds=2.0)


@pytest.mark.thorough
@pytest.mark.parametrize("bad", [r"(?:\s*(?:,?\s*and)\s*\d)*$", r"(a+)+$", r"x(?:\w|\d\d?)+y"])
def test_a_pattern_that_tries_ever_more_ways_is_noticed(bad: str) -> None:
    pattern = re.compile(bad)
    with pytest.raises(pytest.fail.Exception):
        search({"bad": pattern}, seconds=0.3)
