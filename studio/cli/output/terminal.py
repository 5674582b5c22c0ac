"""What commands print: texts, remarks, tables and questions.

Names, titles and answers come from models and other people: a terminal gets them without control characters,
a file or a pipe gets them unchanged. Knows no command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.cells import cell_len

from conductor.errors import FormatError
from conductor.text.calendar_time import local_time
from conductor.values.total import Total

UNKNOWN = "-"


# -- texts -----------------------------------------------------------------------------------------


def stream_text(text: str, stream: TextIO) -> str:
    """`text` as `stream` gets it: a terminal gets no control characters but line ends and tabs."""
    return lines_of(text) if stream.isatty() else text


def print_shown(text: str) -> None:
    """Print a text that a model wrote."""
    print(stream_text(text, sys.stdout))


def print_remark(text: str) -> None:
    """Print a sentence about the work on stderr; it may quote a model."""
    print(stream_text(f"conductor: {text}", sys.stderr), file=sys.stderr)


def write_file(text: str) -> None:
    """Print the whole text of a file that declares UTF-8, whatever the encoding of stdout is."""
    if sys.stdout.isatty():
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    # Here rather than when Python ends, so that a reader who has gone is noticed.
    sys.stdout.flush()


@contextmanager
def written_to(file: Path | None) -> Iterator[TextIO]:
    """The opened file, or stdout where it is None. Raises `FormatError` where the file cannot be written."""
    if file is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with file.open("w", encoding="utf-8") as out:
            yield out
    except OSError as error:
        raise FormatError(f"{file} cannot be written: {error.strerror}.") from error


def agreed(question: str) -> bool:
    """Whether the person at the terminal answers `question` with yes; stdin must be open."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def one_line(text: str, limit: int = 0) -> str:
    """The text in one line without control characters, cut to `limit` characters (0: not cut)."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * limit] or text)
    line = " ".join(printable.split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


def lines_of(text: str) -> str:
    """The text with its lines and tabs, and with spaces in place of all other control characters."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


# -- tables ----------------------------------------------------------------------------------------


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The headings and the rows, a line each, in columns of equal width; those at `right` are flush right.

    Rich's own tables are not used: they cut cells to the terminal's width, and a list that is piped into
    another program may have a hundred thousand rows.
    """
    columns = []
    for at, column in enumerate(zip(headings, *rows, strict=True)):
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
