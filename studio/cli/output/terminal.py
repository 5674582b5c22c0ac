"""Prints texts, remarks, JSON, tables and questions.

Names, titles and answers come from models and other people: all that is printed goes through `stream_text`,
which makes control characters visible, or is JSON, which has them as escapes. Knows no command.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, TextIO

from rich.cells import cell_len, set_cell_size

from conductor.errors import FormatError
from conductor.files.named_file import replaced
from conductor.own_settings import command_name
from conductor.text.calendar_time import local_time
from conductor.text.control_characters import escaped, visible
from conductor.values.total import Total

UNKNOWN = "-"

Style = Literal["red", "green", "dim"]
_CODES: dict[Style, int] = {"red": 31, "green": 32, "dim": 2}

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_by_line: ContextVar[bool] = ContextVar("by_line", default=False)
_next_line: ContextVar[str | None] = ContextVar("next_line", default=None)


# -- texts -----------------------------------------------------------------------------------------


def stream_text(text: str, stream: TextIO | None = None) -> str:
    """`text` as `stream` (None: stdout) gets it: control characters are pictures on a terminal, and U+FFFD
    elsewhere.
    """
    return visible(text, pictures=(stream or sys.stdout).isatty())


def lane_text(lanes: str) -> str:
    """Lanes of a graph, in ASCII where stdout has no lines to draw them with."""
    try:
        "●○│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return lanes.translate(_ASCII_LANES)
    return lanes


_ASCII_LANES = str.maketrans("●○│─├┤┼╰╯┴", "*o|-+++'''")


def print_lines(
    *lines: str,
    stream: TextIO | None = None,
    style: Style | None = None,
    red: Collection[int] = (),
    end: str = "\n",
) -> None:
    """Print lines on `stream` (None: stdout) at once, in a style where the stream shows colours, or those at
    `red` in red.
    """
    text = stream_text("\n".join(lines), stream)
    if style is not None and is_coloured(stream):
        text = _painted(text, style)
    elif red and is_coloured(stream):
        texts = (stream_text(line, stream) for line in lines)
        text = "\n".join(_painted(each, "red") if at in red else each for at, each in enumerate(texts))
    print(text, end=end, file=stream or sys.stdout, flush=True)


def _painted(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def is_coloured(stream: TextIO | None = None) -> bool:
    """Whether `stream` (None: stdout) shows colours, by the variables that most programs know."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    return not os.environ.get("NO_COLOR") and (forced or (stream or sys.stdout).isatty())


def print_remark(text: str) -> None:
    """Print a sentence about the work on stderr; it may quote a model."""
    if not _quiet.get():
        print_lines(f"conductor: {text}", stream=sys.stderr)


def print_label(label: str | None) -> None:
    """Print on stderr what is to be known of the whole pool, such as that no model is called."""
    if label and not _quiet.get():
        print_lines(f"({label})", stream=sys.stderr)


def print_fault(text: str) -> None:
    """Print on stderr why something failed, also where only that is wanted."""
    print_lines(f"conductor: {text}", stream=sys.stderr, style="red")


def be_quiet(is_set: bool) -> None:
    """Whether stderr gets nothing but what failed."""
    _quiet.set(is_set)


def is_quiet() -> bool:
    return _quiet.get()


def name_next(thing: str | None, command: str = "", *, what: str = "next") -> None:
    """Let the last line of stderr name what the command made and the command that goes on with it, whatever
    becomes of the work. None takes the line away; so does JSON on stdout, which has the ids.
    """
    _next_line.set(None if thing is None else f"{thing}; {what}: {command_name()} {command}")


def print_next() -> None:
    """Print the line of `name_next`, if there is one."""
    if (line := _next_line.get()) is not None:
        _next_line.set(None)
        print_remark(line)


def print_json(shape: object) -> None:
    """Print a line of JSON in ASCII, at once; of a list each entry in a line, after `print_by_line`."""
    name_next(None)
    entries = [shape]
    if _by_line.get() and isinstance(shape, Mapping):
        entries = next((value for value in shape.values() if isinstance(value, list)), entries)
    print(
        *(escaped(json.dumps(entry)) for entry in entries), sep="\n", end="\n" if entries else "", flush=True
    )


def print_by_line(is_set: bool) -> None:
    """Whether `print_json` prints the entries of an object's list, without the object."""
    _by_line.set(is_set)


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
def written_to(file: Path | None, *, force: bool = True) -> Iterator[TextIO]:
    """The file, or stdout where it is None: what is written there must be `escaped` JSON. A file is replaced
    at the end of the block, and stays as it was where the block raises; a pipe or a device is written to.
    Without `force` a person is asked before a file is replaced. Raises `FormatError` where it cannot be
    written, and where it is there and no person agrees to that.
    """
    if file is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    if not force and file.is_file() and not (sys.stdin.isatty() and agreed(f"{file} exists; overwrite it?")):
        raise FormatError(f"{file} exists and was not overwritten; name another file, or add --force.")
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
    return (typed(f"{question} [y/N]") or "").strip().lower() in ("y", "yes")


def typed(question: str) -> str | None:
    """The line that the person at the terminal answers; None at the end of the input. Stdin must be open."""
    print(stream_text(f"{question} ", sys.stderr), end="", file=sys.stderr, flush=True)
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise
    return line.rstrip("\n") if line else None


def one_line(text: str, limit: int = 0) -> str:
    """The text in one line, cut to `limit` characters (0: not cut)."""
    line = " ".join((text[: 4 * limit] or text).split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


def folded(text: str, *, before: int, indent: int = 0) -> list[str]:
    """The lines of a text. On a terminal long ones are broken at words, so that each has room behind `before`
    cells; all but the first are to stand `indent` cells further.
    """
    lines = stream_text(text).split("\n")
    if not sys.stdout.isatty():
        return lines
    # Only a terminal waits for these to load.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    width = max(shutil.get_terminal_size().columns - before - indent, _NARROWEST)
    return [each.plain.rstrip() for line in lines for each in Text(line).wrap(Console(), width) or [Text("")]]


# -- tables ----------------------------------------------------------------------------------------


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The headings and the rows, a line each, in columns of equal width; those at `right` are flush right.

    On a terminal that is too narrow for a line the widest of the other columns are cut; columns that have no
    room then follow below, beside the first one again.
    Rich's own tables are not used: they cut what is piped, too, and a list that is piped into another program
    may have a hundred thousand rows.
    """
    cells_of = [[*map(stream_text, texts)] for texts in zip(headings, *rows, strict=True)]
    widths = [max(map(cell_len, column)) for column in cells_of]
    groups = [[*range(len(widths))]]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        over = sum(widths) + 2 * (len(widths) - 1) - room
        cuttable = sorted(set(range(len(widths))) - set(right), key=lambda at: -widths[at])
        fits = over <= sum(max(widths[at] - _NARROWEST, 0) for at in cuttable)
        least = _NARROWEST if fits else max(room - widths[0] - 2, _NARROWEST)
        for at in cuttable:
            cut = min(over, widths[at] - least)
            if cut > 0:
                over, widths[at] = over - cut, widths[at] - cut
                cells_of[at] = [_cut(cell, widths[at]) for cell in cells_of[at]]
        groups = _groups(widths, room)
    columns = []
    for at, (column, width) in enumerate(zip(cells_of, widths, strict=True)):
        gaps = [" " * (width - cell_len(cell)) for cell in column]
        columns.append(
            [gap + cell if at in right else cell + gap for cell, gap in zip(column, gaps, strict=True)]
        )
    return "\n\n".join(
        "\n".join("  ".join(cells).rstrip() for cells in zip(*(columns[at] for at in group), strict=True))
        for group in groups
    )


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns that stand beside one another, the first in each group."""
    groups = [[0]]
    for at in range(1, len(widths)):
        if len(groups[-1]) > 1 and sum(widths[each] + 2 for each in groups[-1]) + widths[at] > room:
            groups.append([0])
        groups[-1].append(at)
    return groups


_NARROWEST = 12
"""A cut column has at least so many cells; an id has eight."""


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def moment(at: float | None) -> str:
    """A time (Unix seconds) by this machine's clock."""
    return UNKNOWN if at is None else f"{local_time(at):%Y-%m-%d %H:%M}"


def tokens_cell(total: Total) -> str:
    """The tokens of a total, without their noun."""
    return f"{'at least ' * total.tokens_at_least}{amount(total.tokens)}"


def amount(number: int | None) -> str:
    """A number, `UNKNOWN` where it is None."""
    return UNKNOWN if number is None else f"{number:,}"
