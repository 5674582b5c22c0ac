"""The images of a session's conversation: each is one long text, to which the session's row refers.

Functions of a connection inside a transaction. So the row stays small, and an image that a run's requests
show as well is stored once.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.values.conversation import Conversation
from conductor.values.images import Image
from storage.database.schema import LONG_TEXTS, SESSIONS
from storage.fragments import Fragments

_STORED = "stored:"
"""What stands before the digest in a row, in the place of a data URL."""


def without(conversation: Conversation | None, fragments: Fragments) -> Conversation | None:
    """The conversation as a row has it; `fragments` hold its images.

    Raises `StorageError` for an image without its content, as a damaged session file may have.
    """

    def stored(image: Image) -> Image:
        if image.url.startswith(_STORED):
            raise StorageError("An image of the conversation has no content; nothing was stored.")
        return image.model_copy(update={"url": f"{_STORED}{fragments.image(image)}"})

    return None if conversation is None else _with(conversation, stored)


def filled(connection: Connection, session: str, conversation: Conversation | None) -> Conversation | None:
    """The conversation with its images. Raises `StorageError` where one is missing."""
    wanted = digests(conversation)
    if conversation is None or not wanted:
        return conversation
    own = (LONG_TEXTS.c.session == session) & LONG_TEXTS.c.digest.in_(sorted(wanted))
    rows = connection.execute(select(LONG_TEXTS.c.digest, LONG_TEXTS.c.text).where(own))
    urls = {row.digest: row.text for row in rows}

    def whole(image: Image) -> Image:
        url = urls.get(image.url.removeprefix(_STORED))
        if url is None:
            raise StorageError(
                f"An image of the session {session!r} is missing in the store; restore a copy of the store, "
                "or ask again with the image."
            )
        return image.model_copy(update={"url": url})

    return _with(conversation, whole)


def digests(conversation: Conversation | None) -> set[str]:
    """Those of the images that a row's conversation refers to."""
    pictures = () if conversation is None else conversation.pictures
    found = (image.url for image in pictures if image.url.startswith(_STORED))
    return {url.removeprefix(_STORED) for url in found}


def digests_in(connection: Connection, session: str) -> set[str]:
    """The same of the session's row."""
    return digests(connection.scalar(select(SESSIONS.c.conversation).where(SESSIONS.c.id == session)))


def _with(conversation: Conversation, changed: Callable[[Image], Image]) -> Conversation:
    if not conversation.pictures:
        return conversation
    turns = tuple(
        turn.model_copy(update={"images": tuple(map(changed, turn.images))}) if turn.images else turn
        for turn in conversation.turns
    )
    images = tuple(map(changed, conversation.images))
    return conversation.model_copy(update={"turns": turns, "images": images})
