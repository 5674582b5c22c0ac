"""Saving a new text of the pool file, the notice about it, and its undo.

Knows the tab and the document; the caller names what changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.tab.state import TabState, plain

PLACE = "pool"
"""Where this page's notices stand."""

_SAVED = "pool-saved"


@dataclass(frozen=True)
class Saved:
    """What was done, and the document that undoes it; None where there was no file before."""

    said: str
    undo: PoolDocument | None


def save(document: PoolDocument, *, said: str) -> None:
    """Put the document in the file's place. Raises `PoolError`, and nothing is changed then."""
    document.save()
    before = document.before
    undo = None if before is None else PoolDocument(document.path, before=document.text, text=before)
    st.session_state[_SAVED] = Saved(said, undo)


def saved_notice(tab: TabState) -> None:
    """What was saved last, with its undo; it stays until the next one or a reload."""
    tab.show_notice(PLACE)
    saved = cast("Saved | None", st.session_state.get(_SAVED))
    if saved is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=_SAVED):
        st.markdown(f":material/check: {plain(saved.said)}")
        st.space("stretch")
        if saved.undo is not None:
            st.button("Undo", key="pool-undo", icon=":material/undo:", on_click=_undo, args=(tab, saved.undo))


def _undo(tab: TabState, before: PoolDocument) -> None:
    del st.session_state[_SAVED]
    try:
        before.save()
    except PoolError as error:
        tab.notify("error", str(error), place=PLACE)
