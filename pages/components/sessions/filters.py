"""The head of the sessions page: the search box, the filters, and what of them is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

import streamlit as st

from pages.components.sessions.list_state import SEARCH_KEY, SessionList
from pages.components.tab.fields import committing, shows
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import state_label
from pages.components.view_models.session_filter_url import STATES, TOPOLOGIES, begin_of, day_of, end_of
from storage import SessionFilter
from studio.workbench import Workbench

POPOVER = "find-filters"


def session_filters(bench: Workbench, tab: TabState, listed: SessionList) -> None:
    """Draw them; what is chosen counts at once."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _search(tab, listed)
        set_ones = len(list(_set_ones(listed.filter)))
        label = f"Filters ({set_ones})" if set_ones else "Filters"
        box = st.popover(label, icon=":material/tune:", key=POPOVER, on_change="rerun")
        # Fields of a closed popover cannot be given values: the browser would send their last ones
        # along with its next message, and that would set again what was taken away.
        if box.open:
            with box, st.container(key="find-fields", width=420):
                _fields(bench, tab, listed)
    _chips(listed)
    if (fault := listed.filter.reversed_range) is not None:
        st.warning(fault, icon=":material/warning:")


def _search(tab: TabState, listed: SessionList) -> None:
    shows(tab, SEARCH_KEY, listed.filter.search)
    st.text_input(
        "Search sessions",
        key=SEARCH_KEY,
        type="search",
        live=True,
        max_chars=500,
        placeholder="Search titles, queries, instructions, answers and tags",
        label_visibility="collapsed",
        on_change=committing(tab, SEARCH_KEY, lambda search: listed.ask_for(search=search or "")),
    )


# -- the fields --------------------------------------------------------------------------------------


def _fields(bench: Workbench, tab: TabState, listed: SessionList) -> None:
    filter = listed.filter
    _several(tab, listed, "State", "states", STATES, named=lambda state: state_label(state).capitalize())
    _several(tab, listed, "Shape of the workflow", "topologies", TOPOLOGIES, named=str)
    workers = dict.fromkeys((*bench.store.sessions.known_workers(), *filter.workers))
    _several(tab, listed, "Worker", "workers", list(workers), named=str)
    tags = dict.fromkeys((*bench.store.sessions.known_tags(), *filter.tags))
    _several(tab, listed, "Tags (all must match)", "tags", list(tags), named=str)
    with st.container(horizontal=True):
        _day(tab, listed, "Changed from", "since", lambda day: None if day is None else begin_of(day))
        _day(tab, listed, "to", "until", lambda day: None if day is None else end_of(day))
    with st.container(horizontal=True):
        _tokens(tab, listed, "Tokens, at least", "least_tokens")
        _tokens(tab, listed, "at most", "most_tokens")
    key = "find-deleted"
    shows(tab, key, filter.deleted)
    st.toggle(
        "Deleted sessions",
        key=key,
        on_change=committing(tab, key, lambda on: listed.ask_for(deleted=on)),
    )


def _several(
    tab: TabState,
    listed: SessionList,
    label: str,
    name: str,
    options: Sequence[str],
    *,
    named: Callable[[Any], str],
) -> None:
    key, chosen = f"find-{name}", list(getattr(listed.filter, name))
    shows(tab, key, chosen)
    st.multiselect(
        label,
        options,
        key=key,
        format_func=named,
        placeholder="Any",
        on_change=committing(tab, key, lambda values: listed.ask_for(**{name: tuple(values)})),
    )


def _day(
    tab: TabState, listed: SessionList, label: str, name: str, moment: Callable[[date | None], float | None]
) -> None:
    key, day = f"find-{name}", day_of(getattr(listed.filter, name))
    shows(tab, key, day)
    st.date_input(
        label,
        value=None,
        key=key,
        on_change=committing(tab, key, lambda chosen: listed.ask_for(**{name: moment(chosen)})),
    )


def _tokens(tab: TabState, listed: SessionList, label: str, name: str) -> None:
    key, tokens = f"find-{name}", getattr(listed.filter, name)
    shows(tab, key, tokens)
    st.number_input(
        label,
        value=None,
        key=key,
        min_value=0,
        step=1000,
        placeholder="Any",
        on_change=committing(tab, key, lambda chosen: listed.ask_for(**{name: chosen})),
    )


# -- what is set -------------------------------------------------------------------------------------


def _chips(listed: SessionList) -> None:
    """A button for each condition of the filter, which removes it."""
    set_ones = list(_set_ones(listed.filter))
    if not set_ones:
        return
    with st.container(key="find-set", horizontal=True, gap="small", vertical_alignment="center"):
        for at, (label, changes) in enumerate(set_ones):
            st.button(
                plain(label, limit=60),
                key=f"unset-{at}",
                icon=":material/close:",
                help="Remove this filter",
                on_click=listed.ask_for,
                kwargs=changes,
            )
        st.button("Show all sessions", key="find-clear", type="tertiary", on_click=listed.ask_for_everything)


def _set_ones(filter: SessionFilter) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is set beside the search, and how the filter is without it."""
    if filter.deleted:
        yield "Deleted sessions", {"deleted": False}
    for name, said in (
        ("states", state_label),
        ("topologies", str),
        ("workers", str),
        ("tags", "#{}".format),
    ):
        values = getattr(filter, name)
        for value in values:
            yield said(value), {name: tuple(other for other in values if other != value)}
    if filter.since is not None:
        yield f"From {day_of(filter.since):%d %b %Y}", {"since": None}
    if filter.until is not None:
        yield f"To {day_of(filter.until):%d %b %Y}", {"until": None}
    if filter.least_tokens is not None:
        yield f"At least {filter.least_tokens:,} tokens", {"least_tokens": None}
    if filter.most_tokens is not None:
        yield f"At most {filter.most_tokens:,} tokens", {"most_tokens": None}
