"""The text of a file that a person attached: of a text file as it is, of a PDF in a limited process.

Bytes, characters, memory and seconds are limited; what a limit leaves out is stated. Knows bytes and texts.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore

from conductor.files.file_beginning import LENGTH, text_encoding
from conductor.limited.command import limited, python
from conductor.limited.supervisor import Limits
from conductor.text.formatting import quantity, size

MAX_FILE = 10_000_000
"""Bytes of one file."""

MAX_TEXT = 400_000
"""Characters of one file that are read."""

PDF_LIMITS = Limits(seconds=15.0, memory=512 * 1024**2, output=3_000_000)
"""Of one PDF; the seconds are those of all PDFs that are sent together."""

_TURNS = BoundedSemaphore(2)
"""How many PDFs are read at a time."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text that was read, and `cut`: which part of the file it is, None for all of it."""

    text: str
    cut: str | None = None


class FileReader:
    """Reads files that were sent together. Not for a thread that runs an event loop: a PDF takes seconds."""

    def __init__(self) -> None:
        self._seconds = PDF_LIMITS.seconds

    def read(self, content: bytes) -> FileText:
        """Read a file by its content, whatever it is named.

        Raises `ValueError` with the fault, `LimitedProcessError` where this machine has no process for a PDF,
        `WorkerError` where its system has no limited ones.
        """
        if len(content) > MAX_FILE:
            raise ValueError(f"it has {size(len(content))}; the limit is {size(MAX_FILE)}.")
        try:
            extract = FileText(_decoded(content))
        except ValueError:
            # Its mark may stand behind other bytes, and in a text that is about it.
            if b"%PDF-" not in content[:LENGTH]:
                raise
            extract = self._pdf(content)
        if not extract.text.strip():
            raise ValueError("it has no text. A scan has none either: send its pages as images.")
        if len(extract.text) <= MAX_TEXT:
            return extract
        return FileText(extract.text[:MAX_TEXT], cut=f"only its first {quantity(MAX_TEXT, 'character')}")

    def _pdf(self, content: bytes) -> FileText:
        if self._seconds <= 0:
            raise ValueError(f"the PDFs before it took {PDF_LIMITS.seconds:g} s; send it by itself.")
        with _TURNS:
            limits = replace(PDF_LIMITS, seconds=self._seconds)
            ended = asyncio.run(limited(_pdf_command(), sent=content, limits=limits))
        self._seconds -= ended.seconds
        if ended.code != 0:
            reason = ended.stopped or f"exit code {ended.code}"
            raise ValueError(
                f"it cannot be read as a PDF ({reason}); print it to a new one, or send its text."
            )
        report = json.loads(ended.output)
        if isinstance(report, str):
            raise ValueError(report)
        text, read, pages = report
        return FileText(
            text, cut=None if read == pages else f"only the first {read} of {quantity(pages, 'page')}"
        )


@cache
def _pdf_command() -> tuple[str, ...]:
    source = Path(__file__).with_name("pdf_text.py").read_text(encoding="utf-8")
    return python(f"main({MAX_TEXT})", first=f"{source}\nimport logging; logging.disable(logging.CRITICAL)")


def _decoded(content: bytes) -> str:
    try:
        text = content.decode(text_encoding(content[:LENGTH]))
    except UnicodeDecodeError as error:
        before, byte = content[: error.start].decode("latin-1"), content[error.start]
    except ValueError as fault:
        raise ValueError(f"{fault}.") from None
    else:
        before, zero, _ = text.partition("\0")
        if not zero:
            return text
        byte = 0
    place = f"byte 0x{byte:02x} in line {before.count(chr(10)) + 1:,}"
    raise ValueError(f"it is neither a text in UTF-8 nor a PDF ({place}); convert it to one of them.")
