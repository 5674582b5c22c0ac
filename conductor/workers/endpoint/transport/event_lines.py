"""Server-sent events as servers write them: with a field `error:`, without blank lines, or as bare JSON.

Knows the lines of https://html.spec.whatwg.org/multipage/server-sent-events.html; knows no chunk.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_FIELD = re.compile(r"(?:data:\s*(?=data:))?(data|event|error|id|retry)(?::[ ]?|$)|:")
"""A field's name, which some proxies write twice, or the beginning of a comment."""


@dataclass(frozen=True)
class Event:
    """The data of one event, whether the server names it an error, and whether it has no field's name."""

    data: str
    is_error: bool = False
    bare: bool = False


class EventLines:
    """Bytes in, events out, each as soon as it has ended. Every byte is looked at once."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._open: list[str] = []
        self._after_return = False
        self._first = True
        self._data: list[str] = []
        self._name = ""
        self._bare = False

    def feed(self, part: bytes) -> Iterator[Event]:
        """The events that this part ends."""
        text = self._decode(part)
        if self._first and text:
            text, self._first = text.removeprefix("\ufeff"), False
        if self._after_return and text:
            text, self._after_return = text.removeprefix("\n"), False
        *lines, rest = _LINE_END.split(text)
        self._after_return = text.endswith("\r")
        for line in lines:
            yield from self._line("".join([*self._open, line]))
            self._open.clear()
        self._open.append(rest)

    def end(self) -> Iterator[Event]:
        """What the end of the connection ends; it may be a part of an event."""
        rest = "".join(self._open) + self._decode(b"", True)
        if not any(name.startswith(rest) for name in ("data:", "event:", "error:")):
            yield from self._line(rest)
        yield from self._event()

    def _line(self, line: str) -> Iterator[Event]:
        field = _FIELD.match(line)
        if not line.strip():
            yield from self._event()
        elif field is None:
            if line[:1] == "{" and line.rstrip()[-1:] == "}" and not self._data:
                yield Event(line, bare=True)  # one JSON a line
            else:
                self._bare = self._bare or not self._data
                self._data.append(line)
        else:
            value = line[field.end() :]
            match field[1]:
                case "data":
                    self._data.append(value)
                case "event":
                    self._name = value.strip()
                case "error":
                    yield from self._event()
                    yield Event(value, is_error=True)

    def _event(self) -> Iterator[Event]:
        data, is_error, bare = "\n".join(self._data), self._name == "error", self._bare
        self._data, self._name, self._bare = [], "", False
        if data.strip():
            yield Event(data, is_error=is_error, bare=bare)
