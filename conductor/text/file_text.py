"""The text of a file that a person attached: of a text file as it is, of a PDF by pypdf.

Nothing in a file is executed, rendered or fetched. Bytes, pages, characters and seconds are limited; what a
limit leaves out is stated. Knows bytes and texts.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conductor.text.formatting import counted, size

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_FILE = 10_000_000
"""Bytes of one file."""

MAX_PAGES = 200
"""Pages of a PDF that are read."""

MAX_TEXT = 400_000
"""Characters of one file that are read."""

PATIENCE = 20.0
"""Seconds after which no further page of a PDF is begun."""

_ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


@dataclass(frozen=True, slots=True)
class FileText:
    """The text that was read, and `cut`: which part of the file it is, None for all of it."""

    text: str
    cut: str | None = None


def file_text(content: bytes) -> FileText:
    """Read a file by its content, whatever it is named. Raises `ValueError` with the fault."""
    if len(content) > MAX_FILE:
        raise ValueError(f"it has {size(len(content))}; the limit is {size(MAX_FILE)}.")
    found = _pdf_text(content) if content[:1024].find(b"%PDF-") >= 0 else FileText(_decoded(content))
    if not found.text.strip():
        raise ValueError("it has no text. A scan has none either: send its pages as images.")
    if len(found.text) <= MAX_TEXT:
        return found
    return FileText(found.text[:MAX_TEXT], cut=f"only its first {counted(MAX_TEXT, 'character')}")


def _decoded(content: bytes) -> str:
    encoding = next((name for mark, name in _ENCODINGS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError("it is neither a text in UTF-8 nor a PDF; convert it to one of them.")
    return text


def _pdf_text(content: bytes) -> FileText:
    # Loaded where a PDF is attached.
    import pypdf  # noqa: PLC0415
    from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it needs a password; attach one that does not.")
        return _pages(reader)
    except DependencyError:
        raise ValueError("it is encrypted in a way that is not read here; attach one that is not.") from None
    except ValueError:
        raise
    except (PyPdfError, RecursionError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # What a damaged file leads pypdf to; the file's fault, not the program's.
        raise ValueError(
            f"it cannot be read as a PDF ({type(error).__name__}); print it to a new one."
        ) from None


def _pages(reader: PdfReader) -> FileText:
    until, number = time.monotonic() + PATIENCE, len(reader.pages)
    pages: list[str] = []
    for page in reader.pages:
        late = time.monotonic() > until
        if late or len(pages) == MAX_PAGES or sum(map(len, pages)) > MAX_TEXT:
            break
        pages.append(page.extract_text())
    cut = None if len(pages) == number else f"only the first {len(pages)} of {counted(number, 'page')}"
    return FileText("\n\n".join(pages), cut=cut)
