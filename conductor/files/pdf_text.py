"""The text of a PDF by pypdf. Nothing in it is executed, rendered or fetched.

Knows bytes and texts. `file_text` runs its source in a limited process, since a small file can keep pypdf
busy for long; this project's package may not be in view there.
"""

from __future__ import annotations

import io
import json
import sys
import time

import pypdf
from pypdf.errors import DependencyError, PyPdfError

MAX_PAGES = 200
"""Pages that are read."""

PATIENCE = 8.0
"""Seconds after which no further page is begun."""


def pdf_text(content: bytes, *, longest: int) -> tuple[str, int, int]:
    """The text of its first pages, until they have more than `longest` characters; their number, and that of
    all pages. Raises `ValueError` with the fault.
    """
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it needs a password; attach one that does not.")
        return _pages(reader, longest)
    except DependencyError:
        raise ValueError("it is encrypted in a way that is not read here; attach one that is not.") from None
    except ValueError:
        raise
    except MemoryError:
        raise ValueError(
            "it needs too much memory to read; print it to a new PDF, or send its text."
        ) from None
    except (PyPdfError, RecursionError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # What a damaged file leads pypdf to; the file's fault, not the program's.
        raise ValueError(
            f"it cannot be read as a PDF ({type(error).__name__}); print it to a new one."
        ) from None


def _pages(reader: pypdf.PdfReader, longest: int) -> tuple[str, int, int]:
    until, number = time.monotonic() + PATIENCE, len(reader.pages)
    pages: list[str] = []
    for page in reader.pages:
        late = time.monotonic() > until
        if late or len(pages) == MAX_PAGES or sum(map(len, pages)) > longest:
            break
        pages.append(page.extract_text())
    return "\n\n".join(pages)[: longest + 1], len(pages), number


def main(longest: int) -> None:
    """Read a PDF from standard input, and write JSON: what `pdf_text` returns, or the fault alone."""
    outcome: tuple[str, int, int] | str
    try:
        outcome = pdf_text(sys.stdin.buffer.read(), longest=longest)
    except ValueError as fault:
        outcome = str(fault)
    sys.stdout.write(json.dumps(outcome))
