"""Callbacks are carried out whole. Knows how Streamlit calls them, nothing of what they do.

When another message has come, Streamlit leaves a script at its next look at the session's state, and a
callback likewise: the click that follows a text would end the keeping of it half-way, or before it began.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from streamlit.runtime.state.safe_session_state import SafeSessionState

_calls_callbacks = SafeSessionState.on_script_will_rerun

_TURNS = tuple(RLock() for _ in range(64))
"""One for each session; two may share one, and then wait for each other's callbacks."""


def carry_out_whole() -> None:
    """Have what comes while callbacks are carried out wait for their end, in all sessions of this process."""
    SafeSessionState.on_script_will_rerun = _uninterrupted  # type: ignore[method-assign, assignment]


def _uninterrupted(state: SafeSessionState, *args: Any, **options: Any) -> None:
    # The next message may be carried out by another thread, with a state that is only wrapped anew.
    with _TURNS[id(state._state) // 16 % len(_TURNS)]:
        # Set past `__setattr__`, which would put them into the session's state.
        interrupted = state._yield_callback
        object.__setattr__(state, "_yield_callback", _go_on)
        try:
            _calls_callbacks(state, *args, **options)
        finally:
            object.__setattr__(state, "_yield_callback", interrupted)


def _go_on() -> None:
    """Streamlit asks whether to stop here."""
