"""Reads one list or object literal, Python's or JSON's or somewhere between, with spans.

Knows brackets, commas, numbers and words; knows nothing of plans, and never evaluates anything. A
reader goes forward only and keeps its own stack, so no text makes it slow or deep.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from conductor.planner.parsing.literals import (
    Listing,
    Literal,
    Number,
    ObjectLiteral,
    RepairKind,
    Text,
    Word,
    repair,
)
from conductor.planner.parsing.quotes import QUOTES, QuoteReader, brackets
from conductor.workflow.plan_report import Repair, Span

MAX_DEPTH = 32
"""Brackets inside brackets; a plan needs four."""

_VALUE = rf"[{QUOTES}\[\]{{}}\#0-9-]|/[/*]|(?:none|null|true|false)\b|[\s`]*\Z"
# All of the white space, so that what follows is tried once; Python before 3.11.5 reads some `*+` wrongly.
_SPACE = r"\s*(?!\s)"
# Where a sentence continues after a bracket, it may be one of the text's: 'see table['x'] for more'.
_LIST_ENDS = (
    r"\](?=[ \t\]}*`;.)]*"
    rf"(?:[\r\n#]|\Z|model|sub|access|,\s*(?:[{QUOTES}\[{{0-9-]|\Z|model|sub|access)))"
)
_AFTER_ITEM = re.compile(
    rf"{_SPACE}(?:{_LIST_ENDS}|\#|/[/*]|[\s`]*\Z|,{_SPACE}(?:{_VALUE})|(?P<bracket>\]))", re.IGNORECASE
)
_AFTER_FIELD = re.compile(rf"{_SPACE}(?:[}}:\#]|/[/*]|[\s`]*\Z|,{_SPACE}(?:{_VALUE}))", re.IGNORECASE)
_GAP = re.compile(r"\s+|(?:#|//)[^\n]*|/\*(?:[^*]|\*(?!/)){0,500}\*/")
_COMMENT_OPENS = re.compile(r"#|/[/*]")
_LABEL = re.compile(
    r"[*_`]{0,3}(?:model[ _-]{0,2}ids?|sub[ _-]{0,2}tasks?|access[ _-]{0,2}lists?)[*_`]{0,3}[ \t]{0,9}[=:]",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"[-+*/%.]|(?:if|for|and|or|in)\b")
_COMPUTED = re.compile(r"-?\d[\d.]*\s*[*+%]\s*\d|[^,\[\]{}]{1,60}\bfor\b[^,\[\]{}]{1,60}\bin\b")
_GOES_ON = re.compile(
    r"\[|\.\w+\(|[ \t]*(?:\*[ \t]*(?:\d|len\b|\()|\+[ \t]*[\[(]|if\b[^\n]{0,99}\belse\b)", re.IGNORECASE
)
"""How an expression continues behind a list; Markdown and sentences continue otherwise."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?![^\s,\]}#:`])")
_WORD = re.compile(
    rf"[^\s,\[\]{{}}:=\#`{QUOTES}](?:[^,\[\]{{}}:=\#`\r\n{QUOTES}]*[^\s,\[\]{{}}:=\#`{QUOTES}])?"
)


@dataclass(frozen=True, slots=True)
class LiteralReading:
    """What was read from one place: a literal with its repairs in order, or the fault instead of one.

    `span` ends where reading stopped; reading may continue there.
    """

    literal: Listing | ObjectLiteral | None
    span: Span
    repairs: tuple[Repair, ...] = ()
    fault: str = ""


class _FaultError(Exception):
    """Reading cannot continue; the next reader may start at `at`."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(slots=True)
class _Frame:
    """A bracket that is still open. `ready`: a value may come now, at the start and after a comma."""

    start: int
    bracket: str
    items: list[Literal] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    ready: bool = True

    @property
    def closer(self) -> str:
        return "]" if self.bracket == "[" else "}"

    @property
    def wants_value(self) -> bool:
        return len(self.keys) > len(self.items)

    def closed(self, end: int) -> Listing | ObjectLiteral:
        if self.bracket == "[":
            return Listing(tuple(self.items), (self.start, end))
        # Of what is read so far, the last key may have no value yet.
        return ObjectLiteral(tuple(zip(self.keys, self.items, strict=False)), (self.start, end))


class LiteralReader:
    """Reads literals of one text.

    `walls` are ascending places that no quoted text with a line break runs over, `gaps` those that no
    literal may contain. `marks` is the text with ASCII punctuation in the place of any other, as long as it;
    `as_python`: a text's escapes are Python's.
    """

    def __init__(
        self,
        text: str,
        *,
        marks: str = "",
        walls: Sequence[int] = (),
        gaps: Sequence[int] = (),
        as_python: bool = False,
    ) -> None:
        self._written, self._text = text, marks or text
        self._walls = walls
        self._gaps = gaps
        self._quotes = QuoteReader(text, self._text, as_python=as_python)
        self._as_python = as_python
        self._repairs: list[Repair] = []
        # How many more brackets open than close in the texts of the literal so far, where ends are guessed.
        self._depth = 0
        self._end = len(text.rstrip("` \t\r\n"))
        self._stack: list[_Frame] = []
        self._goes_on = False
        self.open_text: Text | None = None
        """The text in which the last `read_so_far` ended."""

    def read(self, start: int) -> LiteralReading:
        """The list or object that opens at `start`."""
        self._repairs, self._depth = [], 0
        try:
            literal = self._read(start)
        except _FaultError as fault:
            return LiteralReading(None, (start, fault.at), fault=str(fault))
        if _GOES_ON.match(self._written, literal.span[1]):
            return LiteralReading(None, literal.span, fault=self._expression(start))
        gap = bisect_left(self._gaps, start)
        if gap < len(self._gaps) and self._gaps[gap] < literal.span[1]:
            return LiteralReading(None, literal.span, fault="thoughts stand inside it")
        return LiteralReading(
            literal, literal.span, tuple(sorted(self._repairs, key=lambda loose: loose.span))
        )

    def read_so_far(self, start: int) -> LiteralReading:
        """What there is by now of the list or object that opens at `start`; more of it may be written.

        It is read up to its end, a fault or the text's end. A number or word there may go on, and is left
        out; a text is read as far as it is written.
        """
        self._goes_on, self.open_text = True, None
        try:
            literal = self._read(start)
        except _FaultError as fault:
            return LiteralReading(self._closed(), (start, fault.at), fault=str(fault))
        return LiteralReading(literal, literal.span)

    def _closed(self) -> Listing | ObjectLiteral:
        """The literal with all open brackets closed."""
        *outer, frame = self._stack
        if (
            frame.items
            and isinstance(frame.items[-1], Number | Word)
            and frame.items[-1].span[1] >= self._end
        ):
            frame.items.pop()
        literal = frame.closed(self._end)
        for around in reversed(outer):
            around.items.append(literal)
            literal = around.closed(self._end)
        return literal

    def _read(self, start: int) -> Listing | ObjectLiteral:
        self._stack = stack = [_Frame(start, self._text[start])]
        at = start + 1
        while True:
            at = self._after_gap(at)
            if at >= self._end:
                return self._cut(stack)
            mark = self._text[at]
            frame = stack[-1]
            self._named(at, mark)
            if frame.bracket == "[" and (label := _LABEL.match(self._text, at)):
                raise _FaultError(f"its closing {frame.closer} is missing before {label[0]!r}", at)
            if mark in "]}":
                literal = self._close(frame, at)
                stack.pop()
                at += 1
                if not stack:
                    return literal
                stack[-1].items.append(literal)
            elif mark == ",":
                if frame.ready:
                    raise _FaultError("an entry is missing before a comma", at + 1)
                frame.ready = True
                at += 1
            elif not frame.ready:
                raise _FaultError(self._side_by_side(frame, at), at)
            elif frame.bracket == "{" and not frame.wants_value:
                at = self._key(frame, at)
            elif mark in "[{":
                if len(stack) == MAX_DEPTH:
                    raise _FaultError(f"more than {MAX_DEPTH} brackets stand inside each other", at)
                frame.ready = False
                stack.append(_Frame(at, mark))
                at += 1
            else:
                plain = self._plain(frame, at)
                frame.items.append(plain)
                frame.ready = False
                at = plain.span[1]

    def _repair(self, kind: RepairKind, detail: str, span: Span) -> None:
        self._repairs.append(repair(kind, detail, span))

    def _named(self, at: int, mark: str) -> None:
        """Name the first mark of a literal that is read as another one."""
        odd = self._written[at] != mark or self._written[at - 1] == "\\"
        if odd and not any(loose.kind == "other-marks" for loose in self._repairs):
            self._repair("other-marks", f"{self._written[at]} was read as {mark}", (at, at + 1))

    def _after_gap(self, at: int) -> int:
        end = at
        while gap := _GAP.match(self._text, end):
            end = gap.end()
        comment = _COMMENT_OPENS.search(self._text, at, end)
        if comment:
            self._repair("comment", "a comment was passed over", (comment.start(), end))
        return end

    def _cut(self, stack: list[_Frame]) -> Listing | ObjectLiteral:
        """The literal whose last closing bracket the text's end took; more than one is a fault."""
        frame = stack[0]
        if self._goes_on or len(stack) > 1 or frame.ready:
            raise _FaultError(f"the text ends before its closing {frame.closer}", len(self._text))
        detail = f"a closing {frame.closer} was added at the end of the text"
        self._repair("missing-bracket", detail, (self._end, self._end))
        return frame.closed(self._end)

    def _side_by_side(self, frame: _Frame, at: int) -> str:
        """What is wrong where a value follows another one without a comma."""
        last = frame.items[-1] if frame.items else None
        if self._text[at] in QUOTES and isinstance(last, Text):
            second = self._excerpt(at)
            return f"two texts stand side by side, the second is {second}; put a comma between them"
        prefix = self._text[at] in QUOTES and isinstance(last, Word) and last.span[1] == at
        if last is not None and (prefix or _OPERATOR.match(self._text, at)):
            return self._expression(last.span[0])
        return f"a comma is missing before {self._excerpt(at)}"

    def _expression(self, at: int) -> str:
        return f"{self._excerpt(at)} is an expression, which is not computed; write the value itself"

    def _close(self, frame: _Frame, at: int) -> Listing | ObjectLiteral:
        if self._text[at] != frame.closer:
            raise _FaultError(f"{self._text[at]} stands where a {frame.closer} should close it", at + 1)
        if frame.wants_value:
            raise _FaultError(f"the key {frame.keys[-1]!r:.60} has no value", at + 1)
        if frame.ready and frame.items:
            comma = self._text.rfind(",", frame.items[-1].span[1], at)
            self._repair("trailing-comma", "a comma after the last entry was ignored", (comma, comma + 1))
        return frame.closed(at + 1)

    def _key(self, frame: _Frame, at: int) -> int:
        key = self._plain(frame, at)
        colon = self._after_gap(key.span[1])
        if not isinstance(key, Text | Word) or self._text[colon : colon + 1] != ":":
            raise _FaultError(f"a key and a colon are missing at {self._excerpt(at)}", colon)
        self._named(colon, ":")
        frame.keys.append(key.value)
        return colon + 1

    def _plain(self, frame: _Frame, at: int) -> Text | Number | Word:
        if self._text[at] in QUOTES:
            return self._quoted(frame, at)
        if self._text[at : at + 2].casefold() in ("r'", 'r"') and not self._as_python:
            start, end = self._quoted(frame, at + 1).span
            marks = 3 if self._text.startswith(self._text[start] * 3, start) and end > start + 5 else 1
            self._repair("backslash", "a text behind an r was read without escapes", (at, end))
            return Text(self._written[start + marks : end - marks], (at, end))
        number = _NUMBER.match(self._text, at)
        if number:
            return Number(int(number[0]), number.span())
        word = _WORD.match(self._text, at)
        if not word:
            raise _FaultError(f"{self._excerpt(at)} stands where a value should be", at + 1)
        if _COMPUTED.match(self._text, at, word.end()):
            raise _FaultError(self._expression(at), word.end())
        return Word(self._written[slice(*word.span())], word.span())

    def _quoted(self, frame: _Frame, at: int) -> Text:
        wall = bisect_right(self._walls, at)
        limit = self._walls[wall] if wall < len(self._walls) else len(self._text)
        after = _AFTER_ITEM if frame.bracket == "[" else _AFTER_FIELD
        quoted = self._quotes.read(at, limit=limit, after=after, depth=self._depth)
        if quoted is None and self._goes_on:
            self.open_text = self._quotes.read_so_far(at)
            return self.open_text
        if quoted is None:
            raise _FaultError(f"the quote that opens {self._excerpt(at)} is not closed", at + 1)
        text, repairs = quoted
        self._repairs += repairs
        if self._text[at] != '"':
            self._depth += brackets(self._text, at, text.span[1])
        return text

    def _excerpt(self, at: int) -> str:
        """The next few characters of the line, for a message."""
        return repr(self._written[at : at + 20].partition("\n")[0].rstrip())
