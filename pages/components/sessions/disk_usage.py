"""How much room the store takes, and the dialog that gives some of it back by removing things for good."""

from __future__ import annotations

import time
from collections.abc import Collection

import streamlit as st

from conductor.amounts import counted, size
from pages.components.guard import errors_shown
from pages.components.session_list import SessionList
from pages.components.state import TabState, plain
from storage.retention import DAY, retention_days
from storage.store.housekeeping import Cleaning
from storage.workbench import Workbench

_PLACE = "store"
_OPENED = "cleaning-opened"
_KEEP = "cleaning-keeps"
_NAMED = 5
"""Sessions that the dialog calls by their titles."""


def store_size(bench: Workbench) -> None:
    """Draw it, for the foot of a page."""
    with errors_shown(_PLACE), st.container(key="store-size"):
        TabState().show_notice(_PLACE)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(_facts(bench), width="content")
            st.button(
                "Clean up",
                key="clean-up",
                icon=":material/mop:",
                help="Remove deleted sessions for good and give their room back",
                on_click=_open,
            )
    if _OPENED in st.session_state:
        # A dialog stands outside the app's own box, so that it does not know the theme.
        scheme = st.context.theme.type or "normal"
        st.html(f"<style>[data-testid=stDialog] {{ color-scheme: {scheme} }}</style>")
        st.dialog("Clean up the store", width="medium", on_dismiss=_close)(_draw)(bench)


def _facts(bench: Workbench) -> str:
    room = bench.store.room()
    facts = [f"{size(room.bytes)} in {counted(bench.store.count_sessions(), 'session')}"]
    if room.deleted:
        facts.append(f"{room.deleted:,} deleted")
    if room.freeable:
        facts.append(f"about {size(room.freeable)} can be freed")
    return plain(" · ".join(facts))


def _open() -> None:
    st.session_state[_OPENED] = time.time()


def _close() -> None:
    st.session_state.pop(_OPENED, None)


def _draw(bench: Workbench) -> None:
    if _OPENED not in st.session_state:
        st.rerun()
        return
    with errors_shown("cleaning"):
        listing = st.container()
        older_than = _age()
        going = bench.store.removable(older_than=older_than)
        with listing:
            _told(going.values())
        st.caption(
            "Outputs that no run refers to go, too; everything else stays. While it is done nothing can run, "
            "and whoever saves something waits."
        )
        with st.container(horizontal=True):
            label = f"Remove {counted(len(going), 'session')} for good" if going else "Free unused room"
            icon = ":material/delete_forever:" if going else ":material/mop:"
            pressed = st.button(label, key="clean-up-now", type="primary", icon=icon)
            st.button("Cancel", key="clean-up-cancel", on_click=_close)
        if pressed:
            with st.spinner("Removing what is deleted, then writing the store anew without gaps"):
                _note(bench.store.clean_up(older_than=older_than))
            st.rerun()


def _age() -> float:
    """How long ago a session must have been deleted to go, in seconds.

    What is deleted while the dialog is open was not on its list, and stays.
    """
    open_for = max(0.0, time.time() - st.session_state[_OPENED])
    days = retention_days()
    if days is None:
        return open_for
    keeps = st.checkbox(f"Keep those deleted in the last {counted(days, 'day')}", key=_KEEP)
    return days * DAY + open_for if keeps else open_for


def _told(titles: Collection[str]) -> None:
    if not titles:
        st.markdown("No deleted session goes.")
        return
    st.markdown("These deleted sessions go for good, with their runs and answers:")
    named = [f"- {plain(title, limit=90)}" for title in list(titles)[:_NAMED]]
    rest = [f"- and {len(titles) - _NAMED:,} more"] if len(titles) > _NAMED else []
    st.markdown("\n".join((*named, *rest)))


def _note(done: Cleaning) -> None:
    tab, listed = TabState(), SessionList()
    if tab.remembered in done.sessions:
        tab.open(None)
    listed.pick_also(tuple(done.sessions), picked=False)
    if listed.deleted is not None and not done.sessions.keys().isdisjoint(listed.deleted.ids):
        listed.deleted = None
    removed = f"Removed {counted(len(done.sessions), 'session')} for good. " if done.sessions else ""
    less = f", {size(done.freed)} less than before" if done.freed > 0 else ""
    tab.notify("info", f"{removed}The store takes {size(done.bytes_after or 0)} now{less}.", place=_PLACE)
    _close()
