"""The size of the store, and the dialog that makes it smaller by removing things for good."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

import streamlit as st

from conductor.text.formatting import quantity, size
from pages.components.sessions.list_state import SessionList
from pages.components.tab.notices import showing_errors
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row
from pages.components.widgets.dialog import Dialog
from storage.search.listing import WINDOW, many
from storage.store.housekeeping import Cleaning
from studio.sessions.retention import DAY, age_days, due, retention_days
from studio.workbench import Workbench

_PLACE = "store"
_CLEANING = Dialog[float]("cleaning-opened")
"""Has when it was opened, in Unix seconds."""
_NAMED = 5
"""Sessions that the dialog calls by their titles."""
_WEEK = 7
"""For how many days ahead the foot has a forecast."""


def store_size(bench: Workbench) -> None:
    """Draw it, for the foot of a page."""
    with showing_errors(_PLACE), st.container(key="store-size"):
        TabState().show_notice(_PLACE)
        with row():
            st.caption(_facts(bench), width="content")
            help = "Permanently remove deleted sessions and free their space"
            action(
                "Clean up",
                "mop",
                lambda: _CLEANING.open(time.time()),
                key="clean-up",
                help=help,
                redraw=False,
            )
    _CLEANING.show("Clean up the store", partial(_draw, bench), width="medium")


def _facts(bench: Workbench) -> str:
    room = bench.store.housekeeping.room()
    facts = [f"{size(room.bytes)} in {many(bench.store.sessions.count(), 'session')}"]
    if room.deleted:
        facts.append(f"{many(room.deleted, 'deleted session')}")
    if room.freeable:
        facts.append(f"about {size(room.freeable)} can be freed")
    days = age_days()
    if days is not None and (aged := due(bench.store, days, ahead=_WEEK, most=WINDOW + 1)):
        count = many(aged, "session")
        facts.append(f"{count} will be deleted in the next {_WEEK} days, {days:,} days after the last change")
    return plain(" · ".join(facts))


def _draw(bench: Workbench, opened: float) -> None:
    with showing_errors("cleaning"):
        listing = st.container()
        older_than = _age(opened)
        going = bench.store.housekeeping.removable(older_than=older_than)
        with listing:
            _draw_titles(going.values())
        st.caption(
            "This also removes outputs that no run uses; everything else stays. What runs goes on meanwhile."
        )
        with st.container(horizontal=True):
            label = f"Remove {quantity(len(going), 'session')} for good" if going else "Free unused room"
            icon = ":material/delete_forever:" if going else ":material/mop:"
            pressed = st.button(label, key="clean-up-now", type="primary", icon=icon)
            st.button("Cancel", key="clean-up-cancel", on_click=_CLEANING.close)
        if pressed:
            with st.spinner("Removing deleted sessions, then giving their room back"):
                _note(bench.store.housekeeping.clean_up(older_than=older_than))
            st.rerun()


def _age(opened: float) -> float:
    """How long ago a session must have been deleted to go, in seconds.

    What is deleted while the dialog is open was not on its list, and stays.
    """
    open_for = max(0.0, time.time() - opened)
    days = retention_days()
    if days is None:
        return open_for
    recent_stay = st.checkbox(f"Keep those deleted in the last {quantity(days, 'day')}", key="cleaning-keeps")
    return days * DAY + open_for if recent_stay else open_for


def _draw_titles(titles: Collection[str]) -> None:
    if not titles:
        st.markdown("No deleted session will be removed.")
        return
    st.markdown("This permanently removes these deleted sessions with their runs and answers:")
    named = [f"- {plain(title, limit=90)}" for title in list(titles)[:_NAMED]]
    rest = [f"- and {len(titles) - _NAMED:,} more"] if len(titles) > _NAMED else []
    st.markdown("\n".join((*named, *rest)))


def _note(done: Cleaning) -> None:
    tab, listed = TabState(), SessionList.of_tab()
    if tab.remembered in done.sessions:
        tab.open(None)
    listed.select_also(tuple(done.sessions), selected=False)
    if listed.deleted is not None and not done.sessions.keys().isdisjoint(listed.deleted.ids):
        listed.deleted = None
    removed = f"Removed {quantity(len(done.sessions), 'session')} for good. " if done.sessions else ""
    less = f", {size(done.freed)} less than before" if done.freed > 0 else ""
    tab.notify("info", f"{removed}The store takes {size(done.bytes_after or 0)} now{less}.", place=_PLACE)
    _CLEANING.close()
