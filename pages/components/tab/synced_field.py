"""Fields that mirror the workflow: the revision counts, and a field that differs from it is told.

Knows the tab and Streamlit's widget state; knows no workflow.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from pages.components.first_value import being_told, established, is_empty, told_anew
from pages.components.state import TabState

ECHO_SECONDS = 0.4
"""For so long after a field was told another value, its old one is taken for an echo."""


def mirrored(tab: TabState, key: str, value: object) -> bool:
    """Have the field `key` show `value`; a text that the workflow refused stays to be mended.

    Whether the field had to be told. A new one takes `value` as its default, which no later message can
    overtake before the browser has drawn it.
    """
    shown = st.session_state.get(key, value)
    if shown == value or tab.was_refused(key, shown):
        return False
    st.session_state[key] = value
    st.session_state[_told(key)] = (shown, time.monotonic())
    return True


def shows(tab: TabState, key: str, value: object) -> None:
    """Have the field `key`, which is drawn without a default, show `value` from its first moment on."""
    sure = established(key)
    if mirrored(tab, key, value):
        told_anew(key)
    elif not sure and not is_empty(value):
        # That an empty field is to be empty need not be told.
        st.session_state[key] = value


def committing(tab: TabState, key: str, commit: Callable[..., None]) -> Callable[[], None]:
    """A callback that hands the field's new value to `commit`.

    A click elsewhere that leaves the browser before it has drawn what a field was told brings the old value
    along. Nobody has chosen that; taken for a choice, it would undo the edit that the field was told of.
    """

    def changed() -> None:
        value = st.session_state[key]
        if not echoed(key, value):
            commit(value)
        tab.ask_redraw()

    return changed


def echoed(key: str, value: object) -> bool:
    """Whether the field `key` was told to show something else than `value` a moment ago, or on a page that
    has not been drawn to its end since.
    """
    if _told(key) not in st.session_state:
        return False
    old, at = st.session_state[_told(key)]
    return bool(value == old and (time.monotonic() - at <= ECHO_SECONDS or being_told(key)))


def _told(key: str) -> str:
    return f"told-{key}"
