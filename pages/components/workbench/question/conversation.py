"""The messages before a question that was part of a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.text.formatting import counted
from conductor.values.conversation import Conversation
from pages.components.widgets.controls import expander
from pages.components.widgets.rendered_text import rendered_text
from storage import Session

_ROLES = {"system": "Instructions", "user": "User", "assistant": "Assistant", "tool": "Result of a tool"}


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    before = list(messages(session.earlier_conversation))
    if not before:
        return
    files = len(session.earlier_conversation.files)
    parts = [f"Earlier conversation · {counted(len(before) - files, 'message')}"] * (len(before) > files)
    label = " · ".join([*parts, *([counted(files, "file")] if files else [])])
    if box := expander(label, "forum", key="conversation"):
        with box:
            for at, (role, text) in enumerate(before):
                rendered_text(text, key=f"conversation-{at}", label=_ROLES[role])


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order, those behind the question at the end."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in (*conversation.turns, *conversation.following):
        if turn.shown.strip():
            yield turn.role, turn.shown
    for file in conversation.files:
        yield "user", file.shown
