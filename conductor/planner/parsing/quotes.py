"""Reads one quoted text as Python, JSON or a careless model writes it.

Knows quotes and escapes, not lists: the caller gives what may follow a closing quote. Every search
that fails is cached, so reading stays linear however many quotes a hostile text opens.
"""

from __future__ import annotations

import re

from conductor.planner.parsing.literals import Text, repair
from conductor.workflow.plan_report import Repair

DOUBLE = '"“”„‟'
SINGLE = "'‘’‚‛"
QUOTES = DOUBLE + SINGLE

_CLOSERS = {'"': '"', **dict.fromkeys(DOUBLE[1:], '"“”'), "'": "'", **dict.fromkeys(SINGLE[1:], "'‘’")}
_STOPS = {closers: re.compile(rf"\\.|[{closers}]", re.DOTALL) for closers in set(_CLOSERS.values())}
_TRIPLES = {
    opener * 3: re.compile(rf"\\.|{opener * 3 if opener in closers[:1] else f'[{closers}]{{3}}'}", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}
_QUOTE = re.compile(rf"\s*+[{QUOTES}]")

_PAIR = r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
_CODE = r"\\(?:u(?P<u4>[0-9a-fA-F]{4})|U(?P<u8>[0-9a-fA-F]{8})|x(?P<x2>[0-9a-fA-F]{2})|(?P<octal>[0-7]{1,3}))"
_ESCAPE = re.compile(rf"{_PAIR}|{_CODE}|\\(?P<plain>\r\n|.)", re.DOTALL)
_PLAIN = {
    **dict(zip("nrtbfav", "\n\r\t\b\f\a\v", strict=True)),
    **{quote: quote for quote in QUOTES},
    "\\": "\\",
    "/": "/",
    "\n": "",
    "\r\n": "",
}


Quoted = tuple[Text, tuple[Repair, ...]]
"""A quoted text as it is meant, and what was loose in it."""


class QuoteReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._barren: dict[tuple[str, re.Pattern[str]], tuple[int, int]] = {}

    def read(self, start: int, *, limit: int, after: re.Pattern[str], depth: int = 0) -> Quoted | None:
        """The text that opens at `start`, None when it does not close before `limit`.

        `after` matches what may follow a closing quote: in single and typographic quotes, a quote that it
        does not follow belongs to the text, and so does one before a `bracket`, its group, that may be the
        text's own: where not as many have closed as opened in it and, `depth`, in the texts before it. A
        double quote that it follows closes beyond `limit` as well, if it is the very next one: one that opens
        another text is not followed so.
        """
        triple = self._text[start : start + 3]
        quote = triple if triple in _TRIPLES else _CLOSERS[self._text[start]]
        searched = self._barren.get((quote, after))
        if searched is not None and searched[0] <= start < searched[1]:
            return None
        found = self._triple(start, quote) if quote in _TRIPLES else self._single(start, limit, after, depth)
        if isinstance(found, int):
            self._barren[quote, after] = (start, found)
            return None
        return found

    def _triple(self, start: int, triple: str) -> Quoted | int:
        """The text in triple quotes, or the place up to which none closes."""
        for stop in _TRIPLES[triple].finditer(self._text, start + 3):
            if len(stop[0]) == 3:
                span = (start, stop.end())
                loose = repair("triple-quotes", f"a text in {triple} was read as one instruction", span)
                return Text(decoded(self._text[start + 3 : stop.start()]), span), (loose,)
        return len(self._text)

    def _single(self, start: int, limit: int, after: re.Pattern[str], depth: int) -> Quoted | int:
        """The text in single, double or typographic quotes, or the place up to which none closes."""
        opener = self._text[start]
        double = opener == '"'
        inner, counted = 0, start + 1
        for stop in _STOPS[_CLOSERS[opener]].finditer(
            self._text, start + 1, len(self._text) if double else limit
        ):
            if len(stop[0]) > 1:
                continue
            if double and stop.start() < limit:
                return self._quoted(start, stop.start(), inner)
            follows = after.match(self._text, stop.end())
            if follows is not None and follows.lastgroup == "bracket":
                depth += brackets(self._text, counted, stop.start())
                counted = stop.start()
            if follows is not None and (follows.lastgroup != "bracket" or depth == 0):
                return self._quoted(start, stop.start(), inner)
            if double:
                return limit
            if self._next_opens(stop.end(), after):
                return stop.start()
            inner += 1
        return limit

    def _next_opens(self, at: int, after: re.Pattern[str]) -> bool:
        """Whether a quote ends at `at` and another text begins, without the comma between them.

        Two quotes in a row before a comma or bracket are a quotation that ends with its text: 'answer 'no''.
        """
        following = _QUOTE.match(self._text, at)
        if following is None:
            return False
        return following.end() > at + 1 or not after.match(self._text, following.end())

    def _quoted(self, start: int, stop: int, inner: int) -> Quoted:
        raw = self._text[start + 1 : stop]
        span = (start, stop + 1)
        repairs: list[Repair] = []
        if self._text[start] not in "\"'":
            marks = f"{self._text[start]}...{self._text[stop]}"
            repairs.append(repair("typographic-quotes", f"{marks} was read as a quoted text", span))
        if inner and self._text[start] in SINGLE:
            repairs.append(
                repair("apostrophe", f"{inner} quote(s) inside a single-quoted text belong to it", span)
            )
        if "\n" in raw or "\r" in raw:
            repairs.append(repair("raw-newline", "a quoted text goes on over a line break", span))
        return Text(decoded(raw), span), tuple(repairs)


def brackets(text: str, start: int, end: int) -> int:
    """How many more square brackets open than close in a stretch of a text."""
    return text.count("[", start, end) - text.count("]", start, end)


def decoded(raw: str) -> str:
    """The text that Python or JSON mean by `raw`; an unknown escape stays as it is written."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(escape: re.Match[str]) -> str:
    if escape["high"]:
        return bytes.fromhex(escape["high"] + escape["low"]).decode("utf-16-be")
    if escape["plain"]:
        return _PLAIN.get(escape["plain"], escape[0])
    digits = escape["u4"] or escape["u8"] or escape["x2"]
    code = int(digits, 16) if digits else int(escape["octal"], 8)
    return chr(code) if code <= 0x10FFFF else escape[0]
