"""Images of a message: data URLs of checked media types. Values only.

An image is never decoded into pixels here: its first bytes show its type, its length its size.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

from pydantic import Field

from conductor.text.formatting import quantity, size
from conductor.values.portable_model import PortableModel

MAX_IMAGE = 5_000_000
"""Bytes of one image."""

MAX_IMAGES_SIZE = 7_000_000
"""Bytes of all images of a request together; in base64 they take a third more."""

MAX_IMAGES = 20
"""Images of one request."""

Detail = Literal["auto", "low", "high"]

_DATA = re.compile(r"data:([\w.+-]{1,40}/[\w.+-]{1,40});base64,", re.IGNORECASE)
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
TYPES = tuple(_BEGINNINGS)
"""The media types that are taken."""


def image_type(content: bytes) -> str | None:
    """The media type of an image by its first bytes; None for what is no image that is taken."""
    return next((name for name, begins in _BEGINNINGS.items() if begins.match(content)), None)


class Image(PortableModel):
    """An image of a message: a data URL, with `at` characters of the message's text before it.

    `detail` is how closely a model is to look at it, None if the client leaves that open. In a row of the
    store the URL is "stored:" and a digest.
    """

    url: str = Field(pattern=r"^(data:image/(png|jpeg|gif|webp);base64,|stored:)")
    at: int = Field(default=0, ge=0)
    detail: Detail | None = Field(default=None, exclude_if=lambda detail: detail is None)

    @classmethod
    def of(cls, url: str, *, at: int = 0, detail: Detail | None = None) -> Self:
        """The image of a data URL. Raises `ValueError` with the fault, which repeats nothing of the URL."""
        match = _DATA.match(url)
        if match is None:
            raise ValueError(
                "it is no data URL in base64. Images are not fetched from other addresses: send it as "
                "data:image/png;base64,..."
            )
        if len(url) - match.end() > MAX_IMAGE * 4 // 3 + 4:
            raise ValueError(f"it is larger than {size(MAX_IMAGE)}; send a smaller one.")
        try:
            content = b64decode(url[match.end() :], validate=True)
        except (BadBase64, ValueError):
            raise ValueError("its base64 cannot be read; send the whole file, encoded.") from None
        if (media_type := image_type(content)) is None:
            raise ValueError(f"its first bytes are of no type that is taken: {', '.join(TYPES)}.")
        # By its content: some clients name every picture a JPEG.
        return cls(url=f"data:{media_type};base64,{url[match.end() :]}", at=at, detail=detail)

    @property
    def media_type(self) -> str:
        return self.url[len("data:") :].partition(";")[0]

    @property
    def size(self) -> int:
        """In bytes."""
        written = self.url[self.url.find(",") + 1 :]
        return len(written) * 3 // 4 - written[-2:].count("=")

    @property
    def words(self) -> str:
        """Its type and size, for people and planners."""
        return f"{self.media_type}, {size(self.size)}"

    @property
    def wire(self) -> dict[str, Any]:
        """A part of a message in OpenAI's words."""
        detail = {} if self.detail is None else {"detail": self.detail}
        return {"type": "image_url", "image_url": {"url": self.url, **detail}}


def check_images(images: Sequence[Image]) -> None:
    """Raise `ValueError` where there are too many together."""
    together = sum(image.size for image in images)
    if len(images) > MAX_IMAGES:
        raise ValueError(f"The messages have {len(images)} images; the limit is {MAX_IMAGES}.")
    if together > MAX_IMAGES_SIZE:
        raise ValueError(
            f"The images have {size(together)} together; the limit is {size(MAX_IMAGES_SIZE)}. Send fewer or "
            "smaller ones."
        )


def images_words(images: Iterable[Image]) -> str:
    """How many there are, with types and sizes: "2 images (image/png, 1.2 kB; image/gif, 80 bytes)"."""
    kinds = Counter(image.words for image in images)
    each = "; ".join(f"{number} of {words}" if number > 1 else words for words, number in kinds.items())
    return f"{quantity(kinds.total(), 'image')} ({each})"


def in_parts(text: str, images: Sequence[Image]) -> list[Image | str]:
    """The text in pieces with the images between them; no piece is empty."""
    pieces: list[Image | str] = []
    done = 0
    for image in sorted(images, key=lambda image: image.at):
        pieces += [text[done : image.at], image]
        done = max(done, image.at)
    return [piece for piece in (*pieces, text[done:]) if piece != ""]
