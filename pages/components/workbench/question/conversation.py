"""The conversation that a question was part of: the messages before it, what is attached to it, and the turns
of a session that went on with further requests, each with its messages, calls and answer.

A turn is opened as a session of its own, also with corrected texts; the newest one is the session's run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from textwrap import shorten

import streamlit as st

from conductor.runs.state import RunState
from conductor.text.formatting import quantity
from conductor.values.conversation import Conversation, Turn
from pages.components.tab.state import TabState, plain
from pages.components.view_models.agent_turn import AgentTurn
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, expander
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import text_block
from storage import RunRecord, Session
from studio.workbench import Workbench

ROLES = {"system": "Instructions", "user": "User", "assistant": "Assistant", "tool": "Tool result"}

_FIRST_WORDS = 60
_FENCE = re.compile("`{3,}(json)?")
_CALL = re.compile(r"Calls the tool '([\w-]+)' with")
_NEWEST = 40
"""Turns that are listed; of longer conversations the newest ones."""

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


def turns_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw them, where the conversation went on after the question."""
    session = view.session
    if not session.earlier_conversation.following:
        return
    runs = [run for run in reversed(bench.store.runs.of_session(session.id)) if run.round == 1]
    if len(runs) < 2:
        return
    if box := expander(quantity(len(runs), "turn"), "forum", key="turns"):
        with box:
            tab.show_notice("turns")
            if len(runs) > _NEWEST:
                st.caption(f"The newest {_NEWEST}; all messages are in the conversation.")
            for number, run in list(enumerate(runs, start=1))[-_NEWEST:]:
                words = _CALL.sub(r"\1", _FENCE.sub("", run.answer or run.status))
                words = shorten(words, _FIRST_WORDS, placeholder=" …")
                if one := expander(plain(f"{number} · {words}"), "chat", key=f"turn-{run.id}"):
                    with one:
                        before = bench.state(runs[number - 2]) if number > 1 else None
                        _turn(bench, tab, view, run, before)


def _turn(
    bench: Workbench, tab: TabState, view: SessionView, run: RunRecord, before: RunState | None
) -> None:
    turn = AgentTurn.of(view.session, bench.state(run), before)
    if turn is None:
        st.caption("Nothing was sent in this turn.")
        return
    for at, message in turn.messages.items():
        key, label = f"turn-{run.id}-{at}", _label(view, message)
        if message.role == "tool":
            text_block(message.text, key=key, label=label)
        else:
            rendered_text(message.display_text, key=key, label=label)
    if turn.answer is None:
        st.caption("No answer.")
    else:
        label = "Tool calls" if turn.answer.tool_calls and not turn.answer.text.strip() else "Answer"
        rendered_text(turn.answer.display_text, key=f"turn-{run.id}-answer", label=label)
    if not tab.watched:
        _correction(bench, tab, view, run, turn)


def _label(view: SessionView, message: Turn) -> str:
    """Who wrote the message; of a result, the tool that gave it."""
    calls = (call for turn in view.session.earlier_conversation.following for call in turn.tool_calls)
    names = [call.name for call in calls if call.id == message.tool_call_id]
    return f"Result of {names[-1]}" if message.role == "tool" and names else ROLES[message.role]


def _correction(bench: Workbench, tab: TabState, view: SessionView, run: RunRecord, turn: AgentTurn) -> None:
    """The texts that came with the turn, to be corrected, and the way to a session that begins with them."""
    keys: dict[int, str] = {}
    if box := expander("Edit these messages", "edit", key=f"turn-{run.id}-correct"):
        with box:
            for at, message in turn.messages.items():
                keys[at] = f"turn-{run.id}-text-{at}"
                st.text_area(_label(view, message), message.text, key=keys[at], height=120)

    def open_turn() -> None:
        if not tab.pressed_again("fork"):
            texts = {at: str(st.session_state[key]) for at, key in keys.items()}
            query, conversation = turn.with_texts(view.session, texts)
            fork = bench.store.sessions.fork(
                view.session.id, run.revision, query=query, conversation=conversation
            )
            tab.open(fork.id)

    action(
        "Open this turn",
        "fork_right",
        open_turn,
        key=f"turn-{run.id}-open",
        help="Open a new session with the messages up to here, to edit and run the step",
        place="turns",
    )
