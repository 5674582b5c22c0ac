"""What commands print: texts, remarks, JSON, tables and questions.

Names, titles and answers come from models and other people: all that is printed goes through `stream_text`,
which makes control characters visible, or is JSON, which has them as escapes. Knows no command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from rich.cells import cell_len

from conductor.errors import FormatError
from conductor.files.named_file import replaced
from conductor.text.calendar_time import local_time
from conductor.text.control_characters import escaped, visible
from conductor.values.total import Total

UNKNOWN = "-"


# -- texts -----------------------------------------------------------------------------------------


def stream_text(text: str, stream: TextIO | None = None) -> str:
    """`text` as `stream` (None: stdout) gets it: control characters are pictures on a terminal, and U+FFFD
    elsewhere.
    """
    return visible(text, pictures=(stream or sys.stdout).isatty())


def print_shown(*lines: str, stream: TextIO | None = None) -> None:
    """Print lines on `stream` (None: stdout) at once."""
    print(stream_text("\n".join(lines), stream), file=stream or sys.stdout, flush=True)


def print_remark(text: str) -> None:
    """Print a sentence about the work on stderr; it may quote a model."""
    print_shown(f"conductor: {text}", stream=sys.stderr)


def print_json(shape: object) -> None:
    """Print a line of JSON in ASCII, at once."""
    print(escaped(json.dumps(shape)), flush=True)


def write_file(text: str) -> None:
    """Print the whole text of a file that declares UTF-8, whatever the encoding of stdout is."""
    text = stream_text(text)
    if sys.stdout.isatty():
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    # Here rather than when Python ends, so that a reader who has gone is noticed.
    sys.stdout.flush()


@contextmanager
def written_to(file: Path | None) -> Iterator[TextIO]:
    """The file, or stdout where it is None: what is written there must be `escaped` JSON. A file is replaced
    at the end of the block, and stays as it was where the block raises; a pipe or a device is written to.
    Raises `FormatError` where it cannot be written.
    """
    if file is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    replaceable = file.is_file() or not file.exists()
    try:
        with replaced(file.resolve(), mode=0o600) if replaceable else file.open("wb") as content:
            out = TextIOWrapper(content, encoding="utf-8")
            yield out
            out.detach()
    except OSError as error:
        raise FormatError(f"{file} cannot be written: {error.strerror}.") from error


def agreed(question: str) -> bool:
    """Whether the person at the terminal answers `question` with yes; stdin must be open."""
    print(stream_text(f"{question} [y/N] ", sys.stderr), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def one_line(text: str, limit: int = 0) -> str:
    """The text in one line, cut to `limit` characters (0: not cut)."""
    line = " ".join((text[: 4 * limit] or text).split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


# -- tables ----------------------------------------------------------------------------------------


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The headings and the rows, a line each, in columns of equal width; those at `right` are flush right.

    Rich's own tables are not used: they cut cells to the terminal's width, and a list that is piped into
    another program may have a hundred thousand rows.
    """
    columns = []
    for at, texts in enumerate(zip(headings, *rows, strict=True)):
        column = [*map(stream_text, texts)]
        width = max(map(cell_len, column))
        gaps = [" " * (width - cell_len(cell)) for cell in column]
        columns.append(
            [gap + cell if at in right else cell + gap for cell, gap in zip(column, gaps, strict=True)]
        )
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def moment(at: float | None) -> str:
    """A time (Unix seconds) by this machine's clock."""
    return UNKNOWN if at is None else f"{local_time(at):%Y-%m-%d %H:%M}"


def tokens_cell(total: Total) -> str:
    """The tokens of a total, without their noun."""
    return f"{'at least ' * total.tokens_at_least}{amount(total.tokens)}"


def amount(number: int | None) -> str:
    """A number, `UNKNOWN` where it is None."""
    return UNKNOWN if number is None else f"{number:,}"
