"""Choosing what is compared. The page's address is the only place where a choice is kept.

Knows the query parameters and the store; what is done with the choice is the page's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from conductor.errors import StorageError
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import Side, choices, find_side, last_two
from pages.components.view_models.run_text import clock
from pages.components.view_models.workflow.plan_text import Which
from pages.components.widgets.controls import action
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore
from studio.workbench import Workbench

_SESSIONS = 100
"""Sessions that are offered, newest first; older ones come by link."""

_PARTS: tuple[Which, ...] = ("left", "right")


def chosen_sides(bench: Workbench, tab: TabState) -> tuple[Side | None, Side | None]:
    """What the address names, else what the session opened last is compared by, or None without one."""
    if not any(st.query_params.get(which) for which in _PARTS):
        pair = _proposed(bench.store, tab)
        if pair is not None:
            st.query_params.from_dict(dict(zip(_PARTS, pair, strict=True)))
    return _side_of(bench, "left"), _side_of(bench, "right")


def _proposed(store: SessionStore, tab: TabState) -> tuple[str, str] | None:
    newest = [session.id for session in store.sessions.listed(limit=10)]
    for session in dict.fromkeys([*([tab.remembered] if tab.remembered else []), *newest]):
        try:
            pair = last_two(store, session)
        except StorageError:  # the session opened last is gone
            continue
        if pair is not None:
            return pair
    return None


def _side_of(bench: Workbench, which: Which) -> Side | None:
    address = st.query_params.get(which)
    if not address:
        return None
    try:
        return find_side(bench, address)
    except StorageError as error:
        st.error(plain(f"The {which} side: {error}"), icon=":material/link_off:")
        return None


def side_pickers(bench: Workbench, left: Side | None, right: Side | None) -> None:
    """Two fields a side, and the button that exchanges the sides."""
    columns = st.columns(2, gap="small")
    with columns[0]:
        with _head("left"):
            button = partial(action, type="tertiary", redraw=False, disabled=left is None or right is None)
            button("Swap sides", "swap_horiz", _swap, key="compare-swap", help="Swap sides")
        _picker(bench, "left", left)
    with columns[1]:
        _head("right")
        _picker(bench, "right", right)


def _head(which: Which) -> DeltaGenerator:
    """The line above a side's fields, for what stands at its end."""
    box = st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key=f"compare-head-{which}",
    )
    box.markdown(f"**{which.capitalize()}**", width="content")
    return box


def _swap() -> None:
    left, right = st.query_params.get("left", ""), st.query_params.get("right", "")
    st.query_params.from_dict({"left": right, "right": left})


def _picker(bench: Workbench, which: Which, side: Side | None) -> None:
    with st.container(horizontal=True, gap="small", key=f"compare-fields-{which}"):
        session = session_picker(
            bench.store,
            name=f"compare-{which}-session",
            label=f"{which.capitalize()}: session",
            session=None if side is None else side.session.id,
            on_select=lambda selected: _take_newest(bench.store, which, selected),
        )
        names = {} if session is None else choices(bench.store, session)
        if side is not None and side.address not in names:
            names = {side.address: side.name} | names
        key = show_stored(f"compare-{which}", None if side is None else side.address)
        st.selectbox(
            f"{which.capitalize()}: run or revision",
            list(names),
            key=key,
            index=None,
            required=True,
            disabled=not names,
            placeholder="Choose a run or a revision",
            format_func=distinct_labels(names),
            label_visibility="collapsed",
            on_change=on_choice(key, lambda address: _take(which, address, of=names)),
        )


def session_picker(
    store: SessionStore, *, name: str, label: str, session: str | None, on_select: Callable[[str], None]
) -> str | None:
    """A field with the newest sessions that have a workflow and the chosen one, which is given back."""
    titles = {
        summary.id: f"{clock(summary.updated_at)} · {summary.title}"
        for summary in store.sessions.listed(limit=_SESSIONS)
        if summary.steps is not None
    }
    if session is not None and session not in titles:
        titles = {session: store.sessions.find(session).title} | titles
    key = show_stored(name, session)

    def selected(session: str) -> None:
        if session in titles:
            on_select(session)

    st.selectbox(
        label,
        list(titles),
        key=key,
        index=None,
        required=True,
        label_visibility="collapsed",
        placeholder="Choose a session" if titles else "No session has a workflow yet",
        format_func=distinct_labels(titles),
        on_change=on_choice(key, selected),
    )
    return session


def _take(which: Which, address: str | None, *, of: Container[str]) -> None:
    # The browser sends the words of an option: no address once they change, as those of a running run do.
    if address is not None and address in of:
        st.query_params[which] = address


def _take_newest(store: SessionStore, which: Which, session: str) -> None:
    options = choices(store, session)
    _take(which, next(iter(options), None), of=options)
