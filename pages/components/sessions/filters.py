"""The head of the sessions page: the search box, the filters, and what of them is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.sessions.filter_url import STATES, TOPOLOGIES, begin_of, day_of, end_of
from pages.components.sessions.list_state import SessionList
from pages.components.tab.page_part import shows
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import state_label
from pages.components.widgets.labels import distinct_labels
from storage import SessionFilter
from studio.workbench import Workbench

focus_fallback("find-set", "find-search")

POPOVER = "find-filters"

_STATES = {state: state_label(state).capitalize() for state in STATES}


def session_filters(bench: Workbench, tab: TabState, listed: SessionList) -> None:
    """Draw them; what is chosen counts at once."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _field(
            tab,
            listed,
            st.text_input,
            "Search sessions",
            "search",
            read=lambda search: search or "",
            type="search",
            live=True,
            max_chars=500,
            placeholder="Search titles, queries, instructions, answers and tags",
            label_visibility="collapsed",
        )
        conditions = len(list(_conditions(listed.filter)))
        label = f"Filters ({conditions})" if conditions else "Filters"
        box = st.popover(label, icon=":material/tune:", key=POPOVER, on_change="rerun")
        # Fields of a closed popover cannot be given values: the browser would send their last ones
        # along with its next message, and that would set again what was taken away.
        if box.open:
            with box, st.container(key="find-fields", width=420):
                _fields(bench, tab, listed)
    _chips(listed)
    if (fault := listed.filter.reversed_range) is not None:
        st.warning(fault, icon=":material/warning:")


# -- the fields --------------------------------------------------------------------------------------


def _fields(bench: Workbench, tab: TabState, listed: SessionList) -> None:
    filter, field = listed.filter, partial(_field, tab, listed)
    several = partial(field, st.multiselect, show=list, read=tuple, placeholder="Any")
    day = partial(field, st.date_input, show=day_of, value=None)
    tokens = partial(field, st.number_input, value=None, min_value=0, step=1000, placeholder="Any")
    workers = dict.fromkeys((*bench.store.sessions.facet_names("worker"), *filter.workers))
    tags = dict.fromkeys((*bench.store.sessions.facet_names("tag"), *filter.tags))
    several("State", "states", options=STATES, format_func=distinct_labels(_STATES))
    several("Shape of the workflow", "topologies", options=TOPOLOGIES)
    several("Worker", "workers", options=list(workers))
    several("Tags (all must match)", "tags", options=list(tags))
    with st.container(horizontal=True):
        day("Changed from", "since", read=lambda day: None if day is None else begin_of(day))
        day("to", "until", read=lambda day: None if day is None else end_of(day))
    with st.container(horizontal=True):
        tokens("Tokens, at least", "least_tokens")
        tokens("at most", "most_tokens")
    field(st.toggle, "Sessions of evaluations", "evaluated")
    field(st.toggle, "Deleted sessions", "deleted")


def _field(
    tab: TabState,
    listed: SessionList,
    widget: Callable[..., object],
    label: str,
    name: str,
    *,
    show: Callable[[Any], Any] = lambda value: value,
    read: Callable[[Any], Any] = lambda value: value,
    **settings: Any,
) -> None:
    """A field for one condition of the filter, which `show` turns into the field's value and `read` back."""
    key = f"find-{name}"
    value = show(getattr(listed.filter, name))
    changed = shows(tab, key, value, lambda value: listed.ask_for(**{name: read(value)}))
    widget(label, key=key, on_change=changed, **settings)


# -- what is set -------------------------------------------------------------------------------------


def _chips(listed: SessionList) -> None:
    """A button for each condition of the filter, which removes it."""
    conditions = list(_conditions(listed.filter))
    if not conditions:
        return
    with st.container(key="find-set", horizontal=True, gap="small", vertical_alignment="center"):
        for at, (label, changes) in enumerate(conditions):
            st.button(
                plain(label, limit=60),
                key=f"unset-{at}",
                icon=":material/close:",
                help="Remove this filter",
                on_click=listed.ask_for,
                kwargs=changes,
            )
        st.button("Show all sessions", key="find-clear", type="tertiary", on_click=listed.ask_for_everything)


def _conditions(filter: SessionFilter) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is set beside the search, and how the filter is without it."""
    if filter.deleted:
        yield "Deleted sessions", {"deleted": False}
    if filter.evaluated:
        yield "Sessions of evaluations", {"evaluated": False}
    for name, words in (
        ("states", state_label),
        ("topologies", str),
        ("workers", str),
        ("tags", "#{}".format),
    ):
        values = getattr(filter, name)
        for value in values:
            yield words(value), {name: tuple(other for other in values if other != value)}
    if filter.since is not None:
        yield f"From {day_of(filter.since):%d %b %Y}", {"since": None}
    if filter.until is not None:
        yield f"To {day_of(filter.until):%d %b %Y}", {"until": None}
    if filter.least_tokens is not None:
        yield f"At least {filter.least_tokens:,} tokens", {"least_tokens": None}
    if filter.most_tokens is not None:
        yield f"At most {filter.most_tokens:,} tokens", {"most_tokens": None}
