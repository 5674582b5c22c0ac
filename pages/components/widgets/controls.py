"""Buttons, links, rows and boxes as every region draws them. Icons are named as Material names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from conductor.errors import ConductorError
from pages.components.tab.state import TabState
from pages.components.view_models.comparable import last_two
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore

T = TypeVar("T")

COMPARE_PAGE = "pages/compare.py"

Gap = Literal["xxsmall", "xsmall", "small", "medium"]


def action(
    label: str,
    icon: str | None,
    do: Callable[..., object],
    *args: object,
    key: str,
    help: str | None = None,
    disabled: bool = False,
    type: Literal["primary", "secondary", "tertiary"] = "secondary",
    width: Literal["stretch", "content"] = "content",
    place: str | None = None,
    redraw: bool = True,
) -> None:
    """A button that does `do(*args)` before the page is drawn again.

    A `ConductorError` is shown at `place`, which is None if none is expected. `redraw` draws the whole page,
    else only the fragment of the button is drawn.
    """
    tab = TabState()

    def pressed() -> None:
        try:
            do(*args)
        except ConductorError as error:
            if place is None:
                raise
            tab.notify("error", str(error), place=place)
        if redraw:
            tab.ask_redraw()

    symbol = None if icon is None else f":material/{icon}:"
    st.button(
        label, key=key, icon=symbol, help=help, disabled=disabled, type=type, width=width, on_click=pressed
    )


def choice(label: str, names: Mapping[T, str], *, key: str, default: T) -> T:
    """Buttons side by side; one is always chosen. The `label` is for screen readers."""
    return st.segmented_control(
        label,
        list(names),
        default=default,
        required=True,
        key=key,
        format_func=distinct_labels(names),
        label_visibility="collapsed",
    )


def row(key: str | None = None, *, gap: Gap = "small") -> DeltaGenerator:
    """A container whose elements stand side by side, each in the middle of its height."""
    return st.container(horizontal=True, vertical_alignment="center", gap=gap, key=key)


def expander(label: str, icon: str, *, key: str) -> DeltaGenerator | None:
    """A box that is closed at first; None while it is closed, when its content need not be drawn."""
    box = st.expander(label, icon=f":material/{icon}:", key=key, on_change="rerun")
    return box if box.open else None


def page_head(title: str) -> DeltaGenerator:
    """A page's title, in a row that takes what stands beside it."""
    head = st.container(horizontal=True, vertical_alignment="center", key="page-head")
    head.title(title, anchor=False)
    return head


def watched(
    read: Callable[[], T],
    draw: Callable[[T], object],
    *,
    key: str,
    seconds: float | None,
    was: object = None,
    state: Callable[[T], object] = bool,
) -> None:
    """Draw what is read, again every `seconds`; the whole page where that is no longer in the `state` that it
    `was` in, or cannot be read. Without `was` what is read is whether something is under way; where nothing
    is, it is not read again by itself.
    """
    if was is None:
        was = state(read())
        seconds = seconds if was else None

    @st.fragment(key=key, run_every=seconds)
    def part() -> None:
        TabState().redraw_on_request()
        try:
            now = read()
        except ConductorError:
            st.rerun()  # which names what is wrong
        if state(now) != was:
            st.rerun()
        draw(now)

    part()


def compare_query(left: str, right: str) -> Mapping[str, str]:
    """Query parameters for `st.page_link` and `st.switch_page` to `COMPARE_PAGE`, from two addresses such as
    "run:1f0c".

    A plan that was not chosen is "plan:…"; the ids of runs and revisions do without a kind.
    """
    return {"left": left, "right": right}


def compare_page_link(left: str, right: str, *, label: str = "Compare", help: str | None = None) -> None:
    """Draw a link that opens the page on these two."""
    st.page_link(
        COMPARE_PAGE,
        label=label,
        icon=":material/compare_arrows:",
        help=help,
        query_params=compare_query(left, right),
    )


def session_comparison(store: SessionStore, session: str) -> None:
    """Draw the link that compares a session as it is now with how it was before, if there is a
    before.
    """
    pair = last_two(store, session)
    if pair is not None:
        compare_page_link(*pair, help="Compare with the previous run or revision")
