"""Images in a message of a request: which are taken, and where they stand in its text.

Knows OpenAI's shapes; nothing is fetched from an address.
"""

from __future__ import annotations

from collections.abc import Iterable

from conductor.values.images import Detail, Image
from studio.access.errors import ApiError

Piece = str | tuple[str, Detail | None]
"""A text, or the URL of an image with its detail."""


def text_and_images(parts: Iterable[tuple[str, Piece]]) -> tuple[str, tuple[Image, ...]]:
    """The text of a message and its images, of parts each behind its parameter's name.

    Raises `ApiError` that names the image that is not taken.
    """
    text = ""
    images: list[Image] = []
    for param, part in parts:
        if isinstance(part, str):
            text += part
            continue
        url, detail = part
        try:
            images.append(Image.of(url, at=len(text), detail=detail))
        except ValueError as fault:
            message = f"The image '{param}' is not taken: {fault}"
            raise ApiError(message, param=param, code="invalid_image") from None
    if not images:
        return text, ()
    # As a question is kept: without the white space before it.
    own = text.lstrip()
    before = len(text) - len(own)
    return own, tuple(image.model_copy(update={"at": max(0, image.at - before)}) for image in images)
