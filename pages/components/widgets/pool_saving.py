"""Saving the pool file with an undo, from any page.

Knows the document; what is in it is decided by the page that saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action

focus_fallback("pool-undo", "pool-add")

PLACE = "pool"
"""Where notices about the pool file stand."""

_SAVED = "pool-saved"


@dataclass(frozen=True)
class Saved:
    """What was done, and the document that undoes it, or None if there was no file before."""

    notice: str
    undo: PoolDocument | None


def save(document: PoolDocument, *, notice: str) -> None:
    """Put the document in the file's place. Raises `PoolError`, and nothing is changed then."""
    document.save()
    before = document.before
    undo = None if before is None else PoolDocument(document.path, before=document.text, text=before)
    st.session_state[_SAVED] = Saved(notice, undo)


def was_saved() -> bool:
    """Whether something was saved in this tab, as `saved_notice` shows."""
    return _SAVED in st.session_state


def saved_notice(tab: TabState, *, asks: bool = False) -> None:
    """What was saved last, with its undo, and the way to a question where it `asks`; it stays until the next
    one or a reload.
    """
    tab.show_notice(PLACE)
    saved = cast("Saved | None", st.session_state.get(_SAVED))
    if saved is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=_SAVED):
        st.markdown(f":material/check: {plain(saved.notice)}")
        st.space("stretch")
        if saved.undo is not None:
            action("Undo", "undo", _undo, saved.undo, key="pool-undo", place=PLACE, redraw=False)
        if asks:
            st.page_link("pages/workbench.py", label="Ask now", icon=":material/arrow_forward:")


def _undo(before: PoolDocument) -> None:
    del st.session_state[_SAVED]
    before.save()
