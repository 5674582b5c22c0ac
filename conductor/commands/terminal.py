"""Text that others wrote, as a terminal may have it.

Knows that terminals obey control characters; knows nothing of what is said.
"""

from __future__ import annotations

import sys
from typing import TextIO

from conductor.commands.table import lines_of


def shown(text: str, stream: TextIO) -> str:
    """`text` for `stream`: to a terminal without control characters but the ends of lines, else as it is."""
    return lines_of(text) if stream.isatty() else text


def print_shown(text: str) -> None:
    """Print a text of a model's."""
    print(shown(text, sys.stdout))


def write_file(text: str) -> None:
    """Write a file's whole text, which says itself that it is UTF-8, whatever the terminal has."""
    if sys.stdout.isatty():
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    # Here rather than when Python ends, so that a reader who has gone is noticed.
    sys.stdout.flush()


def print_remark(text: str) -> None:
    """Print a sentence about it on stderr; what it quotes may be a model's."""
    print(shown(f"conductor: {text}", sys.stderr), file=sys.stderr)
