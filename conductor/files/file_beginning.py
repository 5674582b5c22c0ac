"""Reads the first bytes of a file: the encoding that its mark names, or its kind, if it is no text.

Knows bytes; opens no file. Nothing is guessed: text without a mark is UTF-8, or in the encoding that a person
names. The signatures are those of the kinds' own specifications.
"""

from __future__ import annotations

import codecs
import json
import re

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
