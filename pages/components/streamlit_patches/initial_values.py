"""Sends a field's value to the browser until the browser is certain to have it.

Streamlit sends a value that Python gave a field only in the run of the page that gave it. If the next run
interrupts that one before the field is drawn, the browser draws the field with an empty default, and sends
the default back as if a person had chosen it. Knows session state, no particular field.
"""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

_PAGES_DRAWN = "pages-drawn"


def drawn_to_the_end() -> None:
    """Called at the end of a whole page: the browser has got the values of all fields."""
    st.session_state[_PAGES_DRAWN] = _pages_drawn() + 1


def established(key: str) -> bool:
    """Whether a page was drawn to its end since the field `key` appeared; call it before drawing it."""
    if key not in st.session_state or _appeared(key) not in st.session_state:
        value_changed(key)
    return not awaits_browser(key)


def value_changed(key: str) -> None:
    """Note that the field `key` was given another value, which the browser does not have yet."""
    st.session_state[_appeared(key)] = _pages_drawn()


def awaits_browser(key: str) -> bool:
    """Whether no page was drawn to its end since the field `key` appeared or was given another value."""
    return cast("int", st.session_state.get(_appeared(key), -1)) >= _pages_drawn()


def show_first(key: str, value: Any) -> Any:
    """Give a new field `value`; afterwards it has its own. Returns what it shows now."""
    sent = established(key)
    shown = st.session_state.setdefault(key, value)
    # An empty value need not be sent, and would overwrite what a person is typing there.
    if not sent and not is_empty(shown):
        st.session_state[key] = shown
    return shown


def is_empty(value: Any) -> bool:
    """Whether `value` is what a field shows without a value."""
    return value is None or value is False or value in ("", [])


def _appeared(key: str) -> str:
    return f"appeared-{key}"


def _pages_drawn() -> int:
    return cast("int", st.session_state.get(_PAGES_DRAWN, 0))
