"""The head of a session on the workbench: its title, that no model is called, the conversation before it."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from conductor.text.formatting import counted
from conductor.values.conversation import Conversation
from pages.components.tab.state import plain
from pages.components.widgets.text_block import text_block
from storage import Session


def session_head(session: Session) -> None:
    """Draw it, at one height and place whatever stands below it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="session-head"):
        st.subheader(plain(session.title, limit=90), anchor=False, width="content")
        if session.pool_label:
            st.badge(session.pool_label, icon=":material/cloud_off:", color="gray")


_LABELS = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    said = list(messages(session.said_before))
    if not said:
        return
    box = st.expander(
        f"Earlier conversation · {counted(len(said), 'message')}",
        icon=":material/forum:",
        key="conversation",
        on_change="rerun",
    )
    if box.open:
        with box:
            for at, (role, text) in enumerate(said):
                text_block(text, key=f"conversation-{at}", label=_LABELS[role])


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in conversation.turns:
        if turn.text.strip():
            yield turn.role, turn.text
