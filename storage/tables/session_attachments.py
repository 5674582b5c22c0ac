"""The images and files of a session's conversation: each is one long text, to which the session's row refers.

Functions of a connection inside a transaction. So the row stays small, and what a run's requests show as well
is stored once.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.images import Image
from storage.database.schema import LONG_TEXTS, SESSIONS
from storage.fragments import Fragments

_STORED = "stored:"
"""What stands before the digest in a row, in the place of a data URL."""


def without(conversation: Conversation | None, fragments: Fragments) -> Conversation | None:
    """The conversation as a row has it; `fragments` hold its images and files.

    Raises `StorageError` for one without its content, as a damaged session file may have.
    """

    def stored(image: Image) -> Image:
        if image.url.startswith(_STORED):
            raise StorageError("An image of the conversation has no content; nothing was stored.")
        return image.model_copy(update={"url": f"{_STORED}{fragments.long_text(image.url)}"})

    def stored_file(file: AttachedFile) -> AttachedFile:
        if file.digest is not None:
            raise StorageError("A file of the conversation has no content; nothing was stored.")
        return file.model_copy(update={"text": "", "digest": fragments.long_text(file.text)})

    return None if conversation is None else _replaced(conversation, stored, stored_file)


def filled(connection: Connection, session: str, conversation: Conversation | None) -> Conversation | None:
    """The conversation with its images and files. Raises `StorageError` where one is missing."""
    needed = digests(conversation)
    if conversation is None or not needed:
        return conversation
    own = (LONG_TEXTS.c.session == session) & LONG_TEXTS.c.digest.in_(sorted(needed))
    rows = connection.execute(select(LONG_TEXTS.c.digest, LONG_TEXTS.c.text).where(own))
    texts = {row.digest: row.text for row in rows}

    def text_of(digest: str, what: str) -> str:
        text: str | None = texts.get(digest)
        if text is None:
            raise StorageError(
                f"{what} of the session {session!r} is missing in the store; restore a copy of the store, "
                "or ask again with it."
            )
        return text

    def whole(image: Image) -> Image:
        return image.model_copy(update={"url": text_of(image.url.removeprefix(_STORED), "An image")})

    def whole_file(file: AttachedFile) -> AttachedFile:
        if file.digest is None:
            return file
        return file.model_copy(update={"text": text_of(file.digest, "A file"), "digest": None})

    return _replaced(conversation, whole, whole_file)


def digests(conversation: Conversation | None) -> set[str]:
    """Those of the images and files that a row's conversation refers to."""
    if conversation is None:
        return set()
    every = conversation.with_all_turns
    urls = (image.url for image in every.pictures if image.url.startswith(_STORED))
    files = {file.digest for file in every.attached if file.digest is not None}
    return {url.removeprefix(_STORED) for url in urls} | files


def digests_in(connection: Connection, session: str) -> set[str]:
    """The same of the session's row."""
    return digests(connection.scalar(select(SESSIONS.c.conversation).where(SESSIONS.c.id == session)))


def _replaced(
    conversation: Conversation,
    image: Callable[[Image], Image],
    file: Callable[[AttachedFile], AttachedFile],
) -> Conversation:
    every = conversation.with_all_turns
    if not (every.pictures or every.attached):
        return conversation

    def changed(value: Turn | Conversation) -> dict[str, object]:
        return {"images": tuple(map(image, value.images)), "files": tuple(map(file, value.files))}

    turns, following = (
        tuple(turn.model_copy(update=changed(turn)) if turn.images or turn.files else turn for turn in each)
        for each in (conversation.turns, conversation.following)
    )
    update = {"turns": turns, "following": following, **changed(conversation)}
    return conversation.model_copy(update=update)
