"""Fields that mirror the workflow: the revision counts, and a field that differs from it is given its value.

Knows the tab and Streamlit's widget state; knows no workflow.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from pages.components.streamlit_patches.initial_values import (
    awaits_browser,
    established,
    is_empty,
    value_changed,
)
from pages.components.tab.state import TabState

ECHO_SECONDS = 0.4
"""For so long after a field was given another value, its old one is taken for an echo."""


def mirrored(tab: TabState, key: str, value: object) -> bool:
    """Have the field `key` show `value`; a text that the workflow refused stays to be fixed.

    Returns whether the field was given it. A new one takes `value` as its default, which no later message can
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
        value_changed(key)
    elif not sure and not is_empty(value):
        # An empty value need not be sent.
        st.session_state[key] = value


def committing(tab: TabState, key: str, commit: Callable[..., None]) -> Callable[[], None]:
    """A callback that hands the field's new value to `commit`.

    A click elsewhere that leaves the browser before it has drawn a field's new value sends the old value
    along. That is no choice of a person; taken for one, it would undo the edit behind the new value.
    """

    def changed() -> None:
        value = st.session_state[key]
        if not echoed(key, value):
            commit(value)
        tab.ask_redraw()

    return changed


def echoed(key: str, value: object) -> bool:
    """Whether the field `key` was given another value than `value` a moment ago, or on a page that
    has not been drawn to its end since.
    """
    if _told(key) not in st.session_state:
        return False
    old, at = st.session_state[_told(key)]
    return bool(value == old and (time.monotonic() - at <= ECHO_SECONDS or awaits_browser(key)))


def _told(key: str) -> str:
    return f"told-{key}"
