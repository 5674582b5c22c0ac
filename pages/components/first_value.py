"""What a field shows when it comes, until the browser is sure to have it.

Streamlit tells the browser a value in that run of the page which gave it to the field. If the next run breaks
that one off before it has drawn the field, the field comes with an empty default, and the browser brings that
along as if somebody had chosen it. Knows session state, no field.
"""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

_PAGES_DRAWN = "pages-drawn"


def drawn_to_the_end() -> None:
    """Called at the end of a whole page: what it told its fields has been sent."""
    st.session_state[_PAGES_DRAWN] = _pages_drawn() + 1


def established(key: str) -> bool:
    """Whether a page was drawn to its end since the field `key` came; to be asked before it is drawn."""
    if key not in st.session_state or _came(key) not in st.session_state:
        told_anew(key)
    return not being_told(key)


def told_anew(key: str) -> None:
    """The field `key` has been told another value, and is as good as new until the browser has that."""
    st.session_state[_came(key)] = _pages_drawn()


def being_told(key: str) -> bool:
    """Whether the field `key` came, or was told another value, and no page was drawn to its end since."""
    return cast("int", st.session_state.get(_came(key), -1)) >= _pages_drawn()


def show_first(key: str, value: Any) -> Any:
    """Have a new field show `value`, and afterwards what it has; what it shows now."""
    told = established(key)
    shown = st.session_state.setdefault(key, value)
    # An empty field needs no telling, which would take away what somebody is typing there.
    if not told and not is_empty(shown):
        st.session_state[key] = shown
    return shown


def is_empty(value: Any) -> bool:
    """Whether that is what a field shows which was told nothing."""
    return value is None or value is False or value in ("", [])


def _came(key: str) -> str:
    return f"came-{key}"


def _pages_drawn() -> int:
    return cast("int", st.session_state.get(_PAGES_DRAWN, 0))
