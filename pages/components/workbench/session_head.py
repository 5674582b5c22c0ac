"""What was said before a session's question: a line that opens to the messages, letter for letter."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from conductor.amounts import counted
from conductor.conversation import Conversation
from pages.components.passage import passage
from storage import Session

_LABELS = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    said = list(messages(session.said_before))
    if not said:
        return
    box = st.expander(
        f"Said before the question · {counted(len(said), 'message')}",
        icon=":material/forum:",
        key="conversation",
        on_change="rerun",
    )
    if box.open:
        with box:
            for at, (role, text) in enumerate(said):
                passage(text, key=f"conversation-{at}", label=_LABELS[role])


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in conversation.turns:
        if turn.text.strip():
            yield turn.role, turn.text
