"""The content of a request's message: text, images and files, which are taken, and where they stand.

Knows OpenAI's shapes; nothing is fetched from an address.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conductor.files.file_text import MAX_FILE, FileReader
from conductor.text.formatting import size
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.images import Detail, Image
from studio.access.errors import ApiError

_FILE_DATA = re.compile(rb'"file_data"|\\u00[567]')

_DATA_URL = re.compile(r"data:[\w.+/-]{0,120}(;charset=[\w-]{1,40})?;base64,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImageUrl:
    """The URL of an image, with its detail."""

    url: str
    detail: Detail | None


@dataclass(frozen=True, slots=True)
class FileData:
    """A file's name, None if the client gives none, and its content in base64, with or without `data:`."""

    name: str | None
    data: str


Piece = str | ImageUrl | FileData


@dataclass(frozen=True, slots=True)
class Content:
    """A message's text with its images and files."""

    text: str
    images: tuple[Image, ...] = ()
    files: tuple[AttachedFile, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """As a `Turn` takes them."""
        return {"text": self.text, "images": self.images, "files": self.files}


def may_have_files(body: bytes) -> bool:
    """Whether a request's body may have a file's data, whose name JSON lets anybody write with escapes."""
    return _FILE_DATA.search(body) is not None


def content_of(parts: Iterable[tuple[str, Piece]], reader: FileReader) -> Content:
    """What a message's parts hold, each behind its parameter's name. Reading a PDF may take seconds.

    Raises `ApiError` that names the part that is not taken, and as `FileReader.read`.
    """
    text = ""
    images: list[Image] = []
    files: list[AttachedFile] = []
    for param, part in parts:
        match part:
            case ImageUrl():
                images.append(_image(part, param, at=len(text)))
            case FileData():
                files.append(_file(part, param, reader))
            case _:
                text += part
    if not images:
        return Content(text, files=tuple(files))
    # As a question is kept: without the white space before it.
    own = text.lstrip()
    before = len(text) - len(own)
    at_own = (image.model_copy(update={"at": max(0, image.at - before)}) for image in images)
    return Content(own, tuple(at_own), tuple(files))


def _image(part: ImageUrl, param: str, *, at: int) -> Image:
    try:
        return Image.of(part.url, at=at, detail=part.detail)
    except ValueError as fault:
        message = f"The image '{param}' is not taken: {fault}"
        raise ApiError(message, param=param, code="invalid_image") from None


def _file(part: FileData, param: str, reader: FileReader) -> AttachedFile:
    try:
        return AttachedFile.of(part.name or "file", _decoded(part.data), reader)
    except ValueError as fault:
        message = f"The file '{param}' is not taken: {fault}"
        raise ApiError(message, param=param, code="invalid_file") from None


def _decoded(data: str) -> bytes:
    """Raises `ValueError` with the fault."""
    header = _DATA_URL.match(data)
    written = data[header.end() :] if header else data
    if len(written) > MAX_FILE * 4 // 3 + 4:
        raise ValueError(f"it is larger than {size(MAX_FILE)}; send a smaller one.")
    try:
        return b64decode(written, validate=True)
    except (BadBase64, ValueError):
        raise ValueError("its base64 cannot be read; send the whole file, encoded.") from None
