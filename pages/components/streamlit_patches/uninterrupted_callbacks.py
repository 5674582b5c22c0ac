"""Lets callbacks run to their end.

When another message has arrived, Streamlit stops a script the next time it reads the session's state, and a
callback likewise: a click right after a text field was left would stop the callback that stores the text.
Knows how Streamlit calls callbacks, not what they do.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from streamlit.runtime.state.safe_session_state import SafeSessionState

_calls_callbacks = SafeSessionState.on_script_will_rerun

_LOCKS = tuple(RLock() for _ in range(64))
"""One for each session; two sessions may share one, and then wait for each other's callbacks."""


def finish_callbacks() -> None:
    """Let a message that arrives during callbacks wait for their end, in all sessions of this process."""
    SafeSessionState.on_script_will_rerun = _uninterrupted  # type: ignore[method-assign, assignment]


def _uninterrupted(state: SafeSessionState, *args: Any, **options: Any) -> None:
    # Another thread may handle the next message, with another wrapper of the same state.
    with _LOCKS[id(state._state) // 16 % len(_LOCKS)]:
        # `SafeSessionState.__setattr__` would write into the session's state.
        interrupted = state._yield_callback
        object.__setattr__(state, "_yield_callback", _go_on)
        try:
            _calls_callbacks(state, *args, **options)
        finally:
            object.__setattr__(state, "_yield_callback", interrupted)


def _go_on() -> None:
    """Streamlit calls this where it would stop the script."""
