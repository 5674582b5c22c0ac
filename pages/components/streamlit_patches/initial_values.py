"""Sends a field's value to the browser until the browser is certain to have it.

Streamlit sends a value that Python gave a field only in the run of the page that gave it. If the next run
interrupts that one before the field is drawn, the browser draws the field with an empty default, and sends
the default back as if a person had chosen it. Knows session state, no particular field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import streamlit as st

_PAGE_COUNT = "pages-drawn"


def drawn_to_the_end() -> None:
    """Called at the end of a whole page: the browser has got the values of all fields."""
    st.session_state[_PAGE_COUNT] = _page_count() + 1


def established(key: str) -> bool:
    """Whether a page was drawn to its end since the field `key` appeared; call it before drawing it."""
    if key not in st.session_state or _appeared(key) not in st.session_state:
        value_changed(key)
    return not awaits_browser(key)


def value_changed(key: str) -> None:
    """Note that the field `key` was given another value, which the browser does not have yet."""
    st.session_state[_appeared(key)] = _page_count()


def awaits_browser(key: str) -> bool:
    """Whether no page was drawn to its end since the field `key` appeared or was given another value."""
    return cast("int", st.session_state.get(_appeared(key), -1)) >= _page_count()


def show_first(key: str, value: Any) -> Any:
    """Give a new field `value`; afterwards it has its own. Returns what it shows now."""
    sent = established(key)
    current = st.session_state.setdefault(key, value)
    # An empty value need not be sent, and would overwrite what a person is typing there.
    if not sent and not is_empty(current):
        st.session_state[key] = current
    return current


def show_stored(name: str, value: Any) -> str:
    """Have a field show `value`, which is stored elsewhere; returns the key that the field is drawn with.

    A field that has another value is replaced by a new one, with a new key: until the browser has drawn what
    is sent to a field, each of its messages sets the old value again, as if a person had chosen that. What
    the browser has is not sent again, since that overwrites a press that is under way.
    """
    key = stored_key(name)
    current = st.session_state.get(key, value)
    if current != value and not (is_empty(current) and is_empty(value)):
        st.session_state[_version(name)] = st.session_state.get(_version(name), 0) + 1
        key = stored_key(name)
    note_drawing(key, show_first(key, value))
    return key


def stored_key(name: str) -> str:
    """The key of the field that `show_stored` had drawn last under this name."""
    version = st.session_state.get(_version(name), 0)
    return f"{name}-{version}" if version else name


def on_choice(key: str, commit: Callable[[Any], object]) -> Callable[[], None]:
    """The callback of a field that `show_stored` gave its key: hands what a person chose to `commit`."""

    def changed() -> None:
        value = st.session_state[key]
        if not was_drawn(key, value):
            note_drawing(key, value)
            commit(value)

    return changed


def note_drawing(key: str, value: Any) -> None:
    """Note that the field `key` is drawn with `value`."""
    st.session_state[_value_key(key)] = value


def was_drawn(key: str, value: Any) -> bool:
    """Whether the field `key` was drawn with `value` last, which is no choice then. Where a run of the page
    ends before it draws a field, Streamlit forgets its value, and takes the next message of it for a change.
    """
    return _value_key(key) in st.session_state and bool(st.session_state[_value_key(key)] == value)


def is_empty(value: Any) -> bool:
    """Whether `value` is what a field shows without a value."""
    return value is None or value is False or value in ("", [])


def _version(name: str) -> str:
    return f"version-{name}"


def _value_key(name: str) -> str:
    return f"drawn-{name}"


def _appeared(key: str) -> str:
    return f"appeared-{key}"


def _page_count() -> int:
    return cast("int", st.session_state.get(_PAGE_COUNT, 0))
