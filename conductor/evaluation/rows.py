"""The rows of a file of data, numbered and bounded: JSON Lines, JSON, CSV or Parquet.

Knows files; knows nothing of what a row is to hold. Nothing is guessed: what can be read in two ways is
refused, and so is text in an encoding that neither the file nor the caller names.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from conductor.errors import DataError, FormatError
from conductor.files.file_text import GZIP, LENGTH, text_encoding
from conductor.text.json_text import parsed

MAX_LINE = 2_000_000
"""Characters of a line: longer ones are broken."""

MAX_ARRAY = 200_000_000
"""Characters of a file that is one JSON value, and of a cell before its table cannot be read on."""

_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
"""As Excel writes it."""

_CONTAINERS = ("data", "rows", "examples", "questions", "items", "instances", "records")
"""What published sets call the list of their rows: SQuAD's files, the hub's server, BIG-bench."""

_NO_TEXT = re.compile("[\0\udc80-\udcff]")

Rows = Iterator[tuple[int, object]]


def rows_of(
    path: Path, *, encoding: str | None = None, max_line: int = MAX_LINE, headless: Sequence[str] = ()
) -> Rows:
    """The rows with their numbers from 1; a row that cannot be read is the `DataError` with the reason.

    Files end in `.jsonl`, `.ndjson`, `.json` (lines, an array, or an object with one list of rows), `.csv`,
    `.tsv` or `.parquet`; those of text may be packed by gzip, and have `.gz` after it. Text is UTF-8, or what
    its mark shows, unless `encoding` names another. `headless` are the columns of a CSV whose first row does
    not have the first of them.
    """
    lines = partial(_json_lines, max_line=max_line)
    table = partial(_csv_rows, headless=headless, max_line=max_line)
    readers: dict[str, Callable[[Path, str | None], Rows]] = {
        ".jsonl": lines,
        ".ndjson": lines,
        ".json": partial(_json_file, max_line=max_line),
        ".csv": table,
        ".tsv": partial(table, separator="\t"),
        ".parquet": lambda path, _: _parquet_rows(path),
    }
    name = path.name.lower().removesuffix(".gz")
    reader = readers.get(Path(name).suffix)
    if reader is None:
        raise DataError(f"{path.name} is not a data set: it must end in {', '.join(readers)}.")
    csv.field_size_limit(max(csv.field_size_limit(), MAX_ARRAY))
    try:
        _ = text_encoding(b"", encoding)
        yield from reader(path, encoding)
    except UnicodeError as error:
        raise DataError(f"{path.name} cannot be read as {encoding or 'UTF-16'}: {error}.") from error
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise DataError(f"{path} cannot be read: {reason}.") from error


@contextmanager
def _opened(path: Path, encoding: str | None, newline: str | None = None) -> Iterator[TextIO]:
    """The file as text, in which bytes that are not UTF-8 stay as surrogates, see `_no_text`.

    Raises `ValueError` as `text_encoding`, and for a page of the web.
    """
    with path.open("rb") as file:
        raw = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if file.peek(2)[:2] == GZIP else file
        beginning = raw.read(LENGTH)
        raw.seek(0)
        own = text_encoding(beginning, encoding)
        if re.match(rb"\s*<(?:!doctype|html)", beginning, re.IGNORECASE):
            raise ValueError("it is an HTML page; download the file itself")
        errors = "surrogateescape" if encoding is None and own.startswith("utf-8") else "strict"
        with io.TextIOWrapper(raw, encoding=own, errors=errors, newline=newline) as text:
            yield text


def _no_text(text: str) -> DataError | None:
    """Why a text is refused in which the file has zeros, or bytes that are not UTF-8."""
    if (match := _NO_TEXT.search(text)) is None:
        return None
    if match[0] == "\0":
        return DataError("it has a byte 0 (NUL), which no text has: export the file again")
    return DataError(
        f"it is not UTF-8 (its byte 0x{ord(match[0]) - 0xDC00:02x}): save the file as UTF-8, or name its "
        "encoding, such as cp1252"
    )


def _value(text: str, where: str) -> Any:
    """A JSON value; what Python writes for no number, NaN, is null in it. Raises `DataError`."""
    try:
        return parsed(text, where=where, parse_constant=lambda _: None)
    except FormatError as error:
        raise DataError(str(error)) from error


def _json_file(path: Path, encoding: str | None, *, max_line: int) -> Rows:
    with _opened(path, encoding) as file:
        text = file.read(MAX_ARRAY + 1)
    is_array = re.match(r"\s*\[", text) is not None
    if is_array and len(text) > MAX_ARRAY:
        raise DataError(f"{path.name} has more than {MAX_ARRAY:,} characters; write it as JSON Lines.")
    try:
        value = _value(text, path.name)
    except DataError:
        if is_array:
            raise
        yield from _json_lines(path, encoding, max_line=max_line)
        return
    if (fault := _no_text(text)) is not None:
        raise DataError(f"{path.name} cannot be read: {fault}.")
    yield from enumerate(_rows_within(path, value), start=1)


def _rows_within(path: Path, value: Any) -> Sequence[object]:
    """The rows of a file that is one value: of an array or of an object's list, else the value itself."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, list) else [value]
    if value and all(isinstance(each, Mapping) for each in value.values()):
        raise DataError(
            f"{path.name} is an object of objects; write an array of rows (pandas: orient='records')."
        )
    if (
        len(value) > 1
        and all(isinstance(each, list) for each in value.values())
        and (value.keys().isdisjoint(_CONTAINERS) or "columns" in value)
    ):
        raise DataError(
            f"{path.name} is an object of lists; write an array of rows (pandas: orient='records')."
        )
    lists = [rows for name in _CONTAINERS if isinstance(rows := value.get(name), list) and rows]
    if len(lists) != 1 or "input" in value or not all(isinstance(row, Mapping) for row in lists[0]):
        return [value]
    # The hub's server numbers its rows, and has their fields in `row`.
    return [row["row"] if "row_idx" in row and "row" in row else row for row in lists[0]]


def _json_lines(path: Path, encoding: str | None, *, max_line: int) -> Rows:
    with _opened(path, encoding) as file:
        for number, line in enumerate(_lines(file, max_line), start=1):
            if not line.strip():
                continue
            if line.strip() in ("[", "{"):
                raise DataError(
                    f"{path.name} has JSON over several lines from line {number} on: write each row in one "
                    "line, or an array into a file that ends in .json."
                )
            if len(line) > max_line:
                yield number, DataError(f"it has more than {max_line:,} characters")
                continue
            try:
                yield number, _no_text(line) or _value(line, "it")
            except DataError as error:
                yield number, DataError(str(error).removesuffix("."))


def _lines(file: TextIO, max_line: int) -> Iterator[str]:
    """The lines of a text file; of one that is too long only its beginning."""
    while line := file.readline(max_line + 1):
        if len(line) > max_line and not line.endswith("\n"):
            while (rest := file.readline(max_line)) and not rest.endswith("\n"):
                pass
        yield line


def _csv_rows(
    path: Path, encoding: str | None, *, headless: Sequence[str], max_line: int, separator: str | None = None
) -> Rows:
    before, begins = 0, 1
    with _opened(path, encoding, newline="") as file:
        while (first := file.readline(MAX_LINE)) and not first.strip():
            before += 1
        if (named := _SEPARATOR_LINE.fullmatch(first)) is not None:
            separator, before = named[1], before + 1
        else:
            separator, before = separator or _separator(path, first), 0
            file.seek(0)
        spaced = first.count(separator) == first.count(f"{separator} ")
        rows = csv.reader(file, delimiter=separator, strict=True, skipinitialspace=spaced)
        try:
            head: Sequence[str] = ()
            for cells in rows:
                line = rows.line_num + before
                begins = line + 1
                if not any(map(str.strip, cells)):
                    continue
                if not head and (not headless or headless[0] in [each.lower() for each in cells]):
                    head = _head(path, cells)
                    continue
                head = head or headless
                yield line, _row(head, cells, max_line)
        except csv.Error as error:
            raise DataError(f"{path.name} is not CSV from line {begins} on: {error}.") from error


def _separator(path: Path, first: str) -> str:
    """What stands between the columns of a first line."""
    columns = {each: len(next(csv.reader([first], delimiter=each), ())) for each in _SEPARATORS}
    most = max(columns.values())
    splits = [each for each in _SEPARATORS if columns[each] == most]
    if most > 1 and len(splits) > 1:
        raise DataError(
            f"{path.name} has columns that {' or '.join(map(repr, splits))} may separate: write sep= and the "
            "right one as its first line."
        )
    return splits[0]


def _head(path: Path, cells: Sequence[str]) -> Sequence[str]:
    names = [cell.strip() for cell in cells]
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise DataError(f"{path.name} has two columns {twice[0]!r}; name each column once.")
    return names


def _row(head: Sequence[str], cells: Sequence[str], max_line: int) -> object:
    fault = _no_text("".join(cells))
    if fault is None and (len(cells) < len(head) or any(cells[len(head) :])):
        fault = DataError(f"it has {len(cells)} cells, and its file {len(head)} columns")
    if max(map(len, cells)) > max_line:
        fault = DataError(f"it has a cell of more than {max_line:,} characters")
    return fault or {name: cell for name, cell in zip(head, cells, strict=False) if name and cell != ""}


def _parquet_rows(path: Path) -> Rows:
    import pyarrow  # noqa: PLC0415 - large, and needed for this kind of file alone
    import pyarrow.parquet  # noqa: PLC0415

    number = 0
    with path.open("rb") as beginning:
        if (first := beginning.read(LENGTH))[:4] != b"PAR1":
            _ = text_encoding(first)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=500):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{path.name} is not a Parquet file: {error}.") from error
