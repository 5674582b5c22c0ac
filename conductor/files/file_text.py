"""The text of a file that a person attached: of a text file as it is, of a PDF in a limited process.

Bytes, characters, memory and seconds are limited; what a limit leaves out is stated. Knows bytes and texts.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore

from conductor.limited.command import limited, python
from conductor.limited.supervisor import Limits
from conductor.text.formatting import quantity, size

# -- the kind of a file ----------------------------------------------------------------------------
#
# What its first bytes show: the encoding that its mark names, or which kind it is that is no text. Nothing is
# guessed: text without a mark is UTF-8, or in the encoding that a person names. The signatures are those of
# the kinds' own specifications.

LENGTH = 1_024
"""Bytes that are enough to look at."""

GZIP = b"\x1f\x8b"
_UNPACK = "unpack it"
_KINDS = tuple(
    (re.compile(signature, re.DOTALL | re.IGNORECASE), kind, advice)
    for signature, kind, advice in (
        (rb"PK(?:\x03\x04|\x05\x06)", "a file of Excel, Word or LibreOffice, or another ZIP archive",
         "save it as CSV or text in UTF-8"),
        (rb"\xd0\xcf\x11\xe0", "a file of an old Excel, Word or Outlook", "save it as CSV or text in UTF-8"),
        (rb"\{\\rtf", "RTF", "save it as text in UTF-8"),
        (rb"(?:\xef\xbb\xbf)?\s*%PDF-\d\.\d", "a PDF", "save its text"),
        (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|II\*\0|MM\0\*|....ftyp(?:hei|mif|avif)", "an image",
         "send it as an image: PNG, JPEG, GIF or WebP"),
        (rb"ID3[\2-\4]\0|\xff[\xfb\xf3\xf2]|OggS\0|fLaC\0|RIFF....WAVE|\0...ftyp|\x1a\x45\xdf\xa3",
         "a sound or a video", "send its words as a text"),
        (GZIP, "packed by gzip", _UNPACK),
        (rb"BZh\d|\xfd7zXZ|7z\xbc\xaf|\x28\xb5\x2f\xfd|Rar!\x1a", "an archive", _UNPACK),
        (rb"PAR1[\x00-\x1f\x80-\xff]", "a Parquet file", "name it .parquet"),
        (rb"ARROW1|SQLite format 3\0", "a file of Arrow or SQLite", "export its rows as CSV or JSON Lines"),
        (rb"\0{4}", "of zeros at its beginning", "copy it again"),
        (rb"version https://git-lfs", "a pointer of Git LFS, which is not the file", "run git lfs pull"),
    )
)  # fmt: skip


def text_encoding(beginning: bytes, named: str | None = None) -> str:
    """The encoding of a text: that of its mark, else the named one, else UTF-8.

    Raises `ValueError` with the kind of a file that is no text, for UTF-16 and UTF-32 without a mark whose
    encoding is not named (ASCII has zeros beside it then, RFC 4627, section 3), and for a name of no encoding
    of files.
    """
    try:
        "".encode(named or "utf-8")
        codec = codecs.lookup(named or "utf-8").name
    except (LookupError, ValueError):
        codec = "idna"
    if codec in ("idna", "punycode"):
        raise ValueError(f"{named!r} is no encoding of files; name one such as cp1252")
    for signature, kind, advice in _KINDS:
        if signature.match(beginning):
            raise ValueError(f"it is {kind}; {advice}")
    own = json.detect_encoding(beginning)
    has_mark = own in ("utf-8-sig", "utf-16", "utf-32")
    if named is None and own != "utf-8" and not has_mark:
        raise ValueError(f"it looks like text in {own.upper()} without a mark; save it as UTF-8")
    return own if has_mark and (named is None or own.startswith(codec[:6])) else named or own


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
