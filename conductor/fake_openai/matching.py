"""A text that a regular expression matches, in words where the expression leaves room for words.

Knows the expression's tree; knows nothing of plans, which come out valid where the expression alone
makes them so.
"""

from __future__ import annotations

import string
from random import Random
from typing import assert_never

from conductor.fake_openai.pattern import Chars, Choice, Pattern, Repeat, Series, pattern
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.text import WORDS

_LONGEST = 100_000


def matching(expression: str, source: Random) -> str:
    """A text that `expression` matches from end to end. Raises `Refusal` where there is none to write."""
    tree = pattern(expression)
    if _least(tree) > _LONGEST:
        raise Refusal("The regular expression asks for too long a text.", code="invalid_grammar")
    return _written(tree, source)


def _least(tree: Pattern) -> int:
    """Characters that are written at least, whichever options are chosen."""
    match tree:
        case Chars():
            return 1
        case Series():
            return sum(map(_least, tree.items))
        case Choice():
            return max(map(_least, tree.options))
        case Repeat():
            return tree.low * _least(tree.item)
        case _:
            assert_never(tree)


def _written(tree: Pattern, source: Random) -> str:
    match tree:
        case Chars():
            return source.choice(tree.members)
        case Series():
            return "".join(_written(item, source) for item in tree.items)
        case Choice():
            return _written(source.choice(tree.options), source)
        case Repeat():
            return _repeated(tree, source)
        case _:
            assert_never(tree)


def _repeated(tree: Repeat, source: Random) -> str:
    most = tree.low + 60 if tree.high is None else min(tree.high, tree.low + 60)
    members = _members(tree.item)
    letters = sum(letter in members for letter in string.ascii_lowercase)
    if letters > 15:
        return _worded(members, tree.low, most, source)
    times = source.randint(tree.low, min(most, tree.low + 2))
    return "".join(_written(tree.item, source) for _ in range(times))


def _members(tree: Pattern) -> str:
    """The characters any of which can fill a repetition; of several classes, the widest one."""
    if isinstance(tree, Chars):
        return tree.members
    if isinstance(tree, Choice):
        return max(map(_members, tree.options), key=len)
    return ""


def _worded(members: str, low: int, most: int, source: Random) -> str:
    """`low` to `most` characters: words where spaces may stand, else one word."""
    known = [word for word in WORDS if all(char in members for char in word)]
    wanted = source.randint(min(max(low, 20), most), most)
    text = source.choice(known) if known else ""
    while known and " " in members and len(text) < wanted:
        text += " " + source.choice(known)
    text = text[:most].rstrip()
    # What is still missing is filled with one letter, which every place accepts.
    filler = next(char for char in members if char.isalpha())
    return text.ljust(low, filler)
