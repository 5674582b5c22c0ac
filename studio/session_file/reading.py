"""Reads session files line by line: replaces references by their texts and checks each entry alone.

A file is untrusted: a line is bounded before it is read as JSON, and every error names its line. Does not
know how entries fit together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from conductor.errors import FormatError, WorkflowError
from conductor.text.json_text import finite, no_number, unique
from storage.copies.session_entries import ENTRIES, Entry, Kind
from studio.session_file import version_1
from studio.session_file.format import FORMAT, REFERENCE, VERSION, End, Header, Text

T = TypeVar("T")

MAX_LINE = 20_000_000
"""Bytes of a line, and characters of an entry with its texts."""

MAX_PARTS = 100_000
"""Commas, lists and objects in a line; the largest workflow has a third of them."""

_RECENT = 4_000_000
"""Characters of texts that stay in memory because the next entries may refer to them again."""

_BEGINNING = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*+\{\s*+"format"\s*+:\s*+"([\w-]++)"(?:\s*+,\s*+"version"\s*+:\s*+([1-9]\d*+)\s*+[,}])?'
)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# An escape may contain one half of a pair alone, which no database can store.
_HALF_PAIR = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)

_REFERENCE = f'"{REFERENCE}"'.encode()

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_HEADER, _TEXT, _END = TypeAdapter(Header), TypeAdapter(Text), TypeAdapter(End)

_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_number, parse_float=finite)


class RawEntry(NamedTuple):
    """An entry as it is in the file, but for its texts; `line` and `session` count from 1."""

    line: int
    session: int
    kind: Kind
    value: Mapping[str, Any]


def format_of(file: BinaryIO) -> tuple[str, int | None]:
    """The format and the version that the file begins with; "" and None where it does not name them."""
    file.seek(0)
    found = _BEGINNING.match(file.read(1_000))
    if found is None:
        return "", None
    return found[1].decode(), None if found[2] is None else int(found[2])


def raw_entries(file: BinaryIO) -> Iterator[RawEntry]:
    """The entries of all sessions in the file, each read when it is consumed.

    Raises `FormatError` with one sentence at the first thing that is wrong.
    """
    form, version = format_of(file)
    if form not in (FORMAT, version_1.BULK_FORMAT):
        raise FormatError(f'The file is no session: it must begin with {{"format":"{FORMAT}","version": ...')
    if version is None:
        raise FormatError("The file's version is not a whole number from 1 on that follows its format.")
    if version > VERSION:
        raise FormatError(
            f"The file has version {version}; this program reads up to version {VERSION}. "
            "Update Conductor Studio, or export it again with the version that you have here."
        )
    file.seek(0)
    if version == VERSION:
        yield from _lines(file)
    else:
        sessions = 0
        for line, kind, data in version_1.entries_in(file):
            sessions += kind == "session"
            yield RawEntry(line, sessions, kind, parsed(data, line=line))


def checked(entry: RawEntry) -> Entry:
    """The entry as its kind has it. Raises `FormatError`."""
    return cast("Entry", _checked(ENTRIES[entry.kind], entry.value, line=entry.line, name=entry.kind))


def check_parts(data: bytes, *, most: int, where: str) -> None:
    """Raises `FormatError` where JSON has more commas, lists and objects: it would take too much memory."""
    if len(data) <= most:
        return
    bare = _STRING.sub(b"", data)
    if sum(bare.count(part) for part in (b",", b"[", b"{")) > most:
        raise FormatError(f"{where} has more than {most:,} parts; nothing that can be imported has so many.")


def parsed(data: bytes, *, line: int) -> Any:
    """This JSON as a value. Raises `FormatError`, also where it has too many parts to be an entry."""
    if len(data) > MAX_LINE:
        raise FormatError(f"Line {line:,} has more than {MAX_LINE:,} bytes, which no entry has.")
    check_parts(data, most=MAX_PARTS, where=f"Line {line:,}")
    try:
        value = _DECODER.decode(data.decode())
        if _HALF_PAIR.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise FormatError(f"Line {line:,} is not JSON: {error.msg} (column {error.colno:,}).") from error
    except UnicodeEncodeError as error:
        raise FormatError(
            f"Line {line:,} has half a character, an escape like \\ud83d without the other half; take it out."
        ) from error
    except UnicodeDecodeError as error:
        raise FormatError(
            f"Line {line:,} is not text in UTF-8; choose a file exported as a session."
        ) from error
    except RecursionError as error:
        raise FormatError(f"Line {line:,} is nested too deeply to be an entry.") from error
    except FormatError as error:
        raise FormatError(f"Line {line:,} is wrong: {error}") from error
    except ValueError as error:
        # Python refuses to read whole numbers of thousands of digits.
        raise FormatError(f"Line {line:,} has a number that is too long.") from error
    return value


def _lines(file: BinaryIO) -> Iterator[RawEntry]:
    header = _checked(_HEADER, parsed(_read_line(file, 1), line=1), line=1, name="header")
    texts = _Texts(file)
    sessions, end_of_line = 0, file.tell()
    for line in count(2):
        data = _read_line(file, line)
        start, end_of_line = end_of_line, end_of_line + len(data)
        name, value = _member(parsed(data, line=line), line=line)
        if name == "text":
            texts.add(_checked(_TEXT, value, line=line, name=name), place=start, size=len(data))
        elif name == "end":
            end = _checked(_END, value, line=line, name=name)
            if (end.lines, header.sessions) != (line, sessions) or file.read(1):
                raise FormatError(
                    f"The file is not whole: line {line:,} ends a file of {end.lines:,} lines, and "
                    f"{sessions:,} of {header.sessions:,} sessions are there. Export it again."
                )
            return
        elif name in ENTRIES:
            if name == "session":
                sessions += 1
                texts.clear()
            if _REFERENCE in data:
                value = texts.put_into(value, line=line)
            yield RawEntry(line, sessions, cast("Kind", name), value)
        else:
            raise _unknown(name, line=line)


def _read_line(file: BinaryIO, line: int) -> bytes:
    data = file.readline(MAX_LINE + 1)
    if len(data) <= MAX_LINE and not data.endswith((b"\n", b"}")):
        raise FormatError(
            f"The file is not whole: it ends in line {line:,}, and its last line is missing. Export it again."
        )
    return data.removeprefix(_BYTE_ORDER_MARK) if line == 1 else data


def _member(value: Any, *, line: int) -> tuple[str, Any]:
    """The name and the content of the one member of a line."""
    if not isinstance(value, dict) or len(value) != 1:
        raise FormatError(
            f'Line {line:,} is wrong: it must be one object with one member, like {{"run": ...}}.'
        )
    return next(iter(value.items()))


class _Texts:
    """The long texts of a session, which stay in the file until an entry refers to them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[str, tuple[int, int]] = {}
        self._recent: dict[str, str] = {}
        self._in_memory = 0

    def clear(self) -> None:
        """Forget all of them: another session begins."""
        self._places, self._recent, self._in_memory = {}, {}, 0

    def add(self, text: Text, *, place: int, size: int) -> None:
        """Note a text whose line of `size` bytes begins at `place`."""
        self._places[text.id] = (place, size)
        self._remember(text)

    def put_into(self, value: Any, *, line: int) -> Any:
        """The value with texts in the place of references.

        Raises `FormatError` where one is unknown, or the texts together are too long for an entry.
        """
        left = MAX_LINE

        def filled(part: Any) -> Any:
            nonlocal left
            if isinstance(part, list):
                return [filled(each) for each in part]
            if not isinstance(part, dict):
                return part
            if REFERENCE not in part:
                return {name: filled(each) for name, each in part.items()}
            text = self._text(part[REFERENCE], line=line)
            left -= len(text)
            if left < 0:
                raise FormatError(
                    f"Line {line:,} shows more than {MAX_LINE:,} characters, which no entry does."
                )
            return text

        return filled(value)

    def _text(self, id: object, *, line: int) -> str:
        if not isinstance(id, str) or id not in self._places:
            raise FormatError(
                f"Line {line:,} refers to the text {str(id)[:60]!r}, which no line before it has."
            )
        if id not in self._recent:
            here = self._file.tell()
            place, size = self._places[id]
            self._file.seek(place)
            self._remember(Text(**json.loads(self._file.read(size))["text"]))
            self._file.seek(here)
        return self._recent[id]

    def _remember(self, text: Text) -> None:
        self._in_memory += len(text.text) - len(self._recent.get(text.id, ""))
        self._recent[text.id] = text.text
        while self._in_memory > _RECENT and len(self._recent) > 1:
            self._in_memory -= len(self._recent.pop(next(iter(self._recent))))


def _checked(form: TypeAdapter[T], value: Any, *, line: int, name: str) -> T:
    try:
        return form.validate_python(value)
    except WorkflowError as error:
        raise FormatError(f"Line {line:,} has a workflow that is not valid: {error}") from error
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False, include_context=False)[0]
        # Which of several forms was tried is of no use to a reader.
        where = [str(part)[:60] for part in reason["loc"] if not str(part).startswith("literal[")]
        place = ".".join((name, *where))
        if reason["type"] == "extra_forbidden":
            raise _unknown(place, line=line) from error
        raise FormatError(f"Line {line:,}: {place!r} is wrong: {reason['msg']}.") from error


def _unknown(name: str, *, line: int) -> FormatError:
    return FormatError(
        f"Line {line:,} has {name[:200]!r}, which this version of Conductor Studio does not know. "
        "Update Conductor Studio, or choose a file that it wrote."
    )
