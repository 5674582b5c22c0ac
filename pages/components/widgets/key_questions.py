"""Asks whether a key may be sent to the host of its endpoint: one question, with one click, for each pair."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import streamlit as st

from conductor.workers.keys.hosts import KeyHost, confirm
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import plain
from pages.components.widgets.controls import action

focus_fallback("pool-confirm-*", "run", "query", "pool-add")


def key_questions(pairs: Iterable[KeyHost], *, place: str) -> None:
    """Ask about each pair; errors are shown at `place`."""
    for pair in pairs:
        key = question_key(pair)
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"{key}-row"):
            st.markdown(f":material/key: **Send {plain(pair.variable)} to {plain(pair.origin)}?**")
            st.caption("This key is not confirmed for this host, so its workers cannot be used.")
            st.space("stretch")
            action("Send", None, confirm, pair, key=key, place=place, redraw=False)


def question_key(pair: KeyHost) -> str:
    """The key of the pair's button."""
    return f"pool-confirm-{sha256(' '.join(pair).encode()).hexdigest()[:12]}"
