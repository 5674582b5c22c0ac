"""Files and images that a person attaches to a question, read into what stands before it.

Knows values and the pool's cards; knows neither a page nor a terminal. Of a file only its text is stored.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence

from conductor.errors import QueryError
from conductor.files.file_text import FileReader
from conductor.values.conversation import NO_CONVERSATION, Conversation
from conductor.values.message_parts.attached_file import AttachedFile, check_files
from conductor.values.message_parts.images import Image, check_images, image_type
from conductor.workers.protocol import WorkerCard

IMAGE_ENDINGS = ("png", "jpg", "jpeg", "gif", "webp")
"""How the names of files end that are images."""

Upload = tuple[str, bytes]
"""A file's name and content."""


def attached(
    conversation: Conversation | None, uploads: Sequence[Upload], *, cards: Iterable[WorkerCard]
) -> Conversation | None:
    """What stands before the question, with these files.

    Raises `QueryError` that names the file that cannot be attached, for too many, and for images that no
    worker sees.
    """
    if not uploads:
        return conversation
    before = conversation or NO_CONVERSATION
    files, images = [*before.files], [*before.images]
    reader = FileReader()
    for name, content in uploads:
        try:
            # Its own first bytes show which type it is, whatever it is named.
            if image_type(content) or name.lower().endswith(IMAGE_ENDINGS):
                images.append(Image.of(f"data:image/png;base64,{b64encode(content).decode()}"))
            else:
                files.append(AttachedFile.of(name, content, reader))
        except ValueError as fault:
            raise QueryError(f"The file {name!r} is not attached: {fault}") from None
    added = before.model_copy(update={"files": tuple(files), "images": tuple(images)})
    try:
        check_files(added.attached)
        check_images(added.pictures)
    except ValueError as fault:
        raise QueryError(str(fault)) from None
    if added.pictures and not any(card.vision for card in cards):
        raise QueryError(
            "No worker sees images. Set vision = true in the pool file for one that does, or attach the text."
        )
    return added
