"""What a person attaches becomes part of what stands before the question, or is refused with its reason."""

from __future__ import annotations

import pytest

from conductor.errors import QueryError
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.workers.protocol import WorkerCard
from studio.workbench.attaching import Upload, attached

BLIND = WorkerCard(name="alpha", kind="model", strengths="", model="m")
SEES = BLIND.model_copy(update={"vision": True})
PNG = b"\x89PNG\r\n\x1a\npixels"
BEFORE = Conversation(turns=(Turn(role="user", text="Hello"),), files=(AttachedFile(name="a", text="b"),))


def test_files_and_images_are_added_to_what_is_there() -> None:
    conversation = attached(
        BEFORE, [("notes.txt", b"Rivers."), ("map.PNG", PNG), ("map.txt", b"GIF89a")], cards=[BLIND, SEES]
    )
    assert conversation is not None
    assert [file.name for file in conversation.files] == ["a", "notes.txt"]
    assert [image.media_type for image in conversation.images] == ["image/png", "image/gif"]
    assert conversation.turns == BEFORE.turns


@pytest.mark.parametrize("before", [None, BEFORE])
def test_without_a_file_nothing_changes(before: Conversation | None) -> None:
    assert attached(before, [], cards=[]) is before


@pytest.mark.parametrize(
    ("uploads", "reason"),
    [
        ([("notes.txt", b"\0")], "The file 'notes.txt' is not attached: it is neither"),
        ([("map.png", b"no image")], "The file 'map.png' is not attached: its first bytes"),
        ([("map.png", PNG)], "No worker sees images"),
        ([(f"{at}.txt", b"a") for at in range(20)], "There are 21 files"),
        ([(f"{at}.png", PNG) for at in range(21)], "have 21 images"),
    ],
)
def test_what_cannot_be_attached_is_refused(uploads: list[Upload], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        attached(BEFORE, uploads, cards=[BLIND])
