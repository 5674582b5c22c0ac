"""Regular expressions as a tree, as far as constrained decoding understands them.

Knows literals, classes, groups, alternatives and repetitions; refuses what looks around or back, as the
real engines do. Knows nothing of how a matching text is chosen.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from conductor.fake_openai.refusal import Refusal

_WRITABLE = "".join(map(chr, range(32, 127))) + "\t\n\r"
_WORD = string.ascii_letters + string.digits + "_"
_CLASSES = {
    "d": string.digits,
    "w": _WORD,
    "s": " \t\n\r",
    "D": "".join(c for c in _WRITABLE if c not in string.digits),
    "W": "".join(c for c in _WRITABLE if c not in _WORD),
    "S": "".join(c for c in _WRITABLE if not c.isspace()),
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_ANCHORS = "AZz"
_TIMES = re.compile(r"\{([0-9]{0,9})(?:(,)([0-9]{0,9}))?\}")
_OPENING = re.compile(r"\((?:\?(?::|P?<[A-Za-z_]\w*>))?")
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of `members`: those that the fake would write, not all that the class allows."""

    members: str


@dataclass(frozen=True, slots=True)
class Series:
    """One after another; none at all is the empty text."""

    items: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times (None: without end)."""

    item: Pattern
    low: int
    high: int | None


Pattern = Chars | Series | Choice | Repeat


def pattern(text: str) -> Pattern:
    """The tree of a regular expression. Raises `Refusal` where it is broken or not supported.

    Anchors are taken to stand where they hold.
    """
    reader = _Reader(text)
    tree = reader.alternatives()
    if not reader.done:
        raise reader.broken("a closing parenthesis has no opening one")
    return tree


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._text)

    def broken(self, why: str) -> Refusal:
        return Refusal(f"Invalid regular expression at character {self._at}: {why}.", code="invalid_grammar")

    def alternatives(self) -> Pattern:
        options = [self._series()]
        while self._takes("|"):
            options.append(self._series())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _series(self) -> Pattern:
        items: list[Pattern] = []
        while not self.done and self._text[self._at] not in "|)":
            items.append(self._repeated(self._atom()))
        return items[0] if len(items) == 1 else Series(tuple(items))

    def _repeated(self, item: Pattern) -> Pattern:
        times = self._times()
        if times is None:
            return item
        low, high = times
        if high is not None and high < low:
            raise self.broken("a repetition ends before it begins")
        self._takes("?")
        if self._times() is not None:
            raise self.broken("a repetition is repeated")
        return Repeat(item, low, high)

    def _times(self) -> tuple[int, int | None] | None:
        """The bounds of the repetition that stands here, None where none does."""
        for sign, times in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._takes(sign):
                return times
        found = _TIMES.match(self._text, self._at)
        if found is None or found[0] in ("{}", "{,}"):
            return None
        self._at = found.end()
        low = int(found[1] or 0)
        if not found[2]:
            return low, low
        return low, int(found[3]) if found[3] else None

    def _atom(self) -> Pattern:
        sign = self._text[self._at]
        if sign == "(":
            return self._group()
        if sign in "*+?":
            raise self.broken("there is nothing to repeat")
        self._at += 1
        if sign == "[":
            return self._class()
        if sign == ".":
            return Chars(_WRITABLE.replace("\n", ""))
        if sign in "^$":
            return Series()
        if sign != "\\":
            return Chars(sign)
        if self._text[self._at : self._at + 1] in tuple(_ANCHORS):
            self._at += 1
            return Series()
        return Chars(self._escaped())

    def _group(self) -> Pattern:
        opening = _OPENING.match(self._text, self._at)
        assert opening is not None, "a group begins with a parenthesis"
        self._at = opening.end()
        if self._takes("?"):
            raise self.broken("groups that look around or set flags are not supported")
        self._depth += 1
        if self._depth > _DEPTH:
            raise self.broken(f"groups are nested more than {_DEPTH} deep")
        tree = self.alternatives()
        self._depth -= 1
        if not self._takes(")"):
            raise self.broken("a group is not closed")
        return tree

    def _class(self) -> Chars:
        negated = self._takes("^")
        members = ""
        first = True
        while first or not self._takes("]"):
            if self.done:
                raise self.broken("a class is not closed")
            members += self._members()
            first = False
        if negated:
            members = "".join(c for c in _WRITABLE if c not in members)
        if not members:
            raise self.broken("a class leaves no printable character")
        return Chars("".join(sorted(set(members))))

    def _members(self) -> str:
        """One character, escape or range of a class."""
        low = self._member()
        if self._text[self._at : self._at + 1] != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return low
        self._at += 1
        high = self._member()
        if len(low) != 1 or len(high) != 1 or high < low:
            raise self.broken("a range in a class is not one")
        return "".join(c for c in _WRITABLE if low <= c <= high) or low

    def _member(self) -> str:
        sign = self._text[self._at]
        self._at += 1
        return self._escaped() if sign == "\\" else sign

    def _escaped(self) -> str:
        """What the escape means whose backslash was just read: one character, or a class of them."""
        sign = self._text[self._at : self._at + 1]
        self._at += 1
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign in ("x", "u"):
            return self._code(2 if sign == "x" else 4)
        if not sign or sign.isalnum():
            raise self.broken(f"the escape \\{sign} is not supported")
        return sign

    def _code(self, digits: int) -> str:
        written = self._text[self._at : self._at + digits]
        if len(written) < digits or not set(written) <= set(string.hexdigits):
            raise self.broken(f"an escape needs {digits} hexadecimal digits")
        self._at += digits
        return chr(int(written, 16))

    def _takes(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found
