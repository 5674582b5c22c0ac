"""Reads session files line by line: replaces references by their texts and checks each entry alone.

A file is untrusted: a line is bounded before it is read as JSON, and every error names its place. Does not
know how entries fit together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from conductor.errors import FormatError, WorkflowError
from conductor.files.file_text import LENGTH, text_encoding
from conductor.text.json_text import ValueCounter, parsed
from conductor.workflow.file import FORMAT as WORKFLOW
from storage.session_entries import ENTRIES, Entry, Kind
from studio.session_file.format import FORMAT, REFERENCE, VERSION, End, Header, Text

T = TypeVar("T")

MAX_LINE = 20_000_000
"""Bytes of a line, and characters of an entry with its texts."""

MAX_PARTS = 100_000
"""Members of objects and items of lists in a line; the largest workflow has a third of them."""

RECENT_TEXTS = 4
"""How many texts stay in memory because the next entries may refer to them again."""

# The first members, in any order, as programs sort them, up to a value that is an object or a list.
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^{}\[\]]*\}?")
_FORMAT = re.compile(rb'[{,]\s*"format"\s*:\s*"([\w-]+)"')
_VERSION = re.compile(rb'[{,]\s*"version"\s*:\s*([1-9]\d*)\s*[,}]')
_BLANK = b" \t\r\n\x1a"
"""What editors leave at the end of a file; 0x1a is DOS' mark of the end."""
# An escape may contain one half of a pair alone, which no database can store.
_HALF_PAIR = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
_PIECE = 65_536
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REFERENCE = f'"{REFERENCE}"'.encode()
_HEADER, _TEXT, _END = TypeAdapter(Header), TypeAdapter(Text), TypeAdapter(End)


class RawEntry(NamedTuple):
    """An entry as it is in the file, but for its texts.

    `where` is its place, such as "Line 7", for errors; sessions count from 1.
    """

    where: str
    session: int
    kind: Kind
    value: Mapping[str, Any]

    def checked(self) -> Entry:
        """The entry as its kind has it. Raises `FormatError`."""
        return cast("Entry", _checked(ENTRIES[self.kind], self.value, where=self.where, name=self.kind))


def format_of(file: BinaryIO) -> tuple[str, int | None]:
    """The format and the version that the file begins with; "" and None if it does not name them."""
    file.seek(0)
    beginning = _BEGINNING.match(file.read(1_000))
    form = None if beginning is None else _FORMAT.search(beginning[0])
    if beginning is None or form is None:
        return "", None
    version = _VERSION.search(beginning[0])
    return form[1].decode(), None if version is None else int(version[1])


def _beginning(file: BinaryIO) -> str:
    """How a file begins that is none of ours, for its error: its kind, or its first characters."""
    file.seek(0)
    beginning = file.read(LENGTH)
    try:
        encoding = text_encoding(beginning)
    except ValueError as kind:
        return f"; {kind}."
    if encoding in ("utf-16", "utf-32"):
        return f"; it is text in {encoding.upper()}: save it as UTF-8."
    return f", and begins with {beginning[:40].decode(errors='replace')!r}." if beginning else "."


def raw_entries(file: BinaryIO) -> Iterator[RawEntry]:
    """The entries of all sessions in the file, each read when it is consumed.

    Raises `FormatError` with one sentence at the first thing that is wrong.
    """
    form, version = format_of(file)
    if form == WORKFLOW:
        raise FormatError(f'The file is a workflow and no session, which begins with {{"format":"{FORMAT}".')
    if form != FORMAT:
        raise FormatError(
            f'The file is neither a session nor a workflow: it must begin with {{"format":"{FORMAT}"'
            f"{_beginning(file)}"
        )
    if version is None:
        raise FormatError("The file's version is not a whole number from 1 on in its first line.")
    if version != VERSION:
        raise FormatError(
            f"The file has version {version}; this program reads version {VERSION}. Export it again with a "
            "Conductor Studio that writes that version, or import it with one that wrote the file."
        )
    file.seek(0)
    yield from _lines(file)


def check_parts(data: bytes, *, most: int, where: str) -> None:
    """Raises `FormatError` where JSON has more members and items: it would take too much memory."""
    counter = ValueCounter()
    for start in range(0, len(data), _PIECE):
        counter.feed(data[start : start + _PIECE])
        if counter.values > most:
            raise FormatError(f"{where} has more than {most:,} parts, too many to import.")


def _parsed(data: bytes, *, where: str) -> Any:
    """This JSON as a value. Raises `FormatError`, also where it is too long or has too many parts."""
    if len(data) > MAX_LINE:
        raise FormatError(f"{where} has more than {MAX_LINE:,} bytes, too many to import.")
    check_parts(data, most=MAX_PARTS, where=where)
    value = parsed(data, where=where)
    if _HALF_PAIR.search(data):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise FormatError(
                f"{where} has half a character, an escape like \\ud83d without the other half; remove it."
            ) from error
    return value


def _lines(file: BinaryIO) -> Iterator[RawEntry]:
    header = _checked(_HEADER, _parsed(_read_line(file, 1), where="Line 1"), where="Line 1", name="header")
    texts = _Texts(file)
    sessions = 0
    for line in count(2):
        where, start = f"Line {line:,}", file.tell()
        data = _read_line(file, line)
        member = _parsed(data, where=where)
        if not isinstance(member, dict) or len(member) != 1:
            raise FormatError(
                f'{where} is wrong: it must be one object with one member, like {{"run": ...}}.'
            )
        name, value = next(iter(member.items()))
        if name == "text":
            texts.places[_checked(_TEXT, value, where=where, name=name).id] = start
        elif name == "end":
            end = _checked(_END, value, where=where, name=name)
            if (end.lines, header.sessions) != (line, sessions):
                raise FormatError(
                    f"The file is not complete: line {line:,} ends a file of {end.lines:,} lines, and "
                    f"{sessions:,} of {header.sessions:,} sessions are there. Export it again."
                )
            while piece := file.read(_PIECE):
                if more := piece.lstrip(_BLANK)[:40]:
                    raise FormatError(f"Line {line:,} ends the file, and more follows: {more!r}; remove it.")
            return
        elif name in ENTRIES:
            if name == "session":
                sessions += 1
                texts.places.clear()
            if _REFERENCE in data:
                value = texts.put_into(value, where=where)
            yield RawEntry(where, sessions, cast("Kind", name), value)
        else:
            raise _unknown(name, where=where)


def _read_line(file: BinaryIO, line: int) -> bytes:
    data = file.readline(MAX_LINE + 1)
    if data.isspace():
        raise FormatError(f"Line {line:,} is empty; remove it.")
    if line == 1 and (data.strip() in (b"{", b"[") or b"\r" in data[:1_000].strip()):
        raise FormatError("Line 1 is not one object: write each on one line that ends with LF or CR LF.")
    if len(data) <= MAX_LINE and not (data.endswith(b"\n") or data.rstrip(_BLANK).endswith(b"}")):
        raise FormatError(
            f"The file is not complete: it ends in line {line:,}, and its last line is missing. Export "
            "it again."
        )
    return data.removeprefix(_BYTE_ORDER_MARK) if line == 1 else data


class _Texts:
    """The long texts of a session, which stay in the file until an entry refers to them.

    `places` are where their lines begin, by their ids.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.places: dict[str, int] = {}
        self._file = file
        self._text_at = lru_cache(maxsize=RECENT_TEXTS)(self._read_at)

    def put_into(self, value: Any, *, where: str) -> Any:
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
            id = part[REFERENCE]
            if not isinstance(id, str) or id not in self.places:
                raise FormatError(
                    f"{where} refers to the text {str(id)[:60]!r}, which no line before it has."
                )
            text = self._text_at(self.places[id])
            left -= len(text)
            if left < 0:
                raise FormatError(f"{where} shows more than {MAX_LINE:,} characters, which no entry does.")
            return text

        return filled(value)

    def _read_at(self, place: int) -> str:
        here = self._file.tell()
        self._file.seek(place)
        text: str = json.loads(self._file.readline())["text"]["text"]
        self._file.seek(here)
        return text


def _checked(form: TypeAdapter[T], value: Any, *, where: str, name: str) -> T:
    try:
        return form.validate_python(value)
    except WorkflowError as error:
        raise FormatError(f"{where} has a workflow that is not valid: {error}") from error
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False, include_context=False)[0]
        # Which of several forms was tried is of no use to a reader.
        inside = [str(part)[:60] for part in reason["loc"] if not str(part).startswith("literal[")]
        place = ".".join((name, *inside))
        if reason["type"] == "extra_forbidden":
            raise _unknown(place, where=where) from error
        raise FormatError(f"{where}: {place!r} is wrong: {reason['msg']}.") from error


def _unknown(name: str, *, where: str) -> FormatError:
    return FormatError(
        f"{where} has {name[:200]!r}, which this version of Conductor Studio does not know. "
        "Update Conductor Studio, or choose a file that it wrote."
    )
