"""The messages before a question that was part of a conversation, and what is attached to it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import streamlit as st

from conductor.text.formatting import quantity
from conductor.values.conversation import Conversation
from pages.components.tab.state import plain
from pages.components.widgets.controls import expander
from pages.components.widgets.rendered_text import rendered_text
from pages.components.workbench.question.turns import ROLES
from storage import Session

_WIDTH = 320
"""The most pixels of an image's width."""


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    earlier = session.earlier_conversation
    before = list(messages(earlier))
    parts = [f"Earlier conversation · {quantity(len(before), 'message')}"] if before else []
    parts += [quantity(len(earlier.files), "file")] if earlier.files else []
    parts += [quantity(len(earlier.pictures), "image")] if earlier.pictures else []
    if not parts:
        return
    if box := expander(" · ".join(parts), "forum", key="conversation"):
        with box:
            turns = [*before, *(("user", file.display_text) for file in earlier.files)]
            for at, (role, text) in enumerate(turns):
                rendered_text(text, key=f"conversation-{at}", label=ROLES[role])
            for image in earlier.pictures:
                # The browser copes with a damaged one.
                st.html(f'<img src="{escape(image.url)}" alt="Attached image" style="max-width: {_WIDTH}px">')
                st.caption(plain(image.words))


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order, those behind the question at the end."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in (*conversation.turns, *conversation.following):
        if turn.display_text.strip():
            yield turn.role, turn.display_text
