"""Changes of Streamlit's messages: it takes those of browsers, and sends its own, without a loss.

Each function changes it in all sessions of this process. Knows Streamlit's sessions, not what they draw.
"""

from __future__ import annotations

from copy import deepcopy
from threading import RLock
from typing import Any

from streamlit.cursor import Cursor, SparseList
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.state.safe_session_state import SafeSessionState

_clears = ForwardMsgQueue.clear
_calls_callbacks = SafeSessionState.on_script_will_rerun

_LOCKS = tuple(RLock() for _ in range(64))
"""One for each session; two sessions may share one, and then wait for each other's callbacks."""


def keep_unsent_messages() -> None:
    """Discard no message that was not sent yet when a run of the script begins.

    Streamlit discards some of them as outdated. Where a fragment's run follows a whole page's at once, it
    discards the message that makes the fragment's place on the page, while its neighbours' messages stay and
    are sent first: the browser draws them into each other's places, twice or not at all, or stops ("Bad delta
    path").
    """
    ForwardMsgQueue.clear = _clear_sent  # type: ignore[method-assign, assignment]


def _clear_sent(queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, **_options: Any) -> None:
    if retain_lifecycle_msgs:
        # Without the index, a later message is not merged into one of the earlier run.
        queue._delta_index_map = {}
    else:
        _clears(queue)


def finish_callbacks() -> None:
    """Let a message that arrives during callbacks wait for their end.

    Streamlit stops a script the next time it reads the session's state, and a callback likewise: a click
    right after a text field was left would stop the callback that stores the text.
    """
    SafeSessionState.on_script_will_rerun = _uninterrupted  # type: ignore[method-assign, assignment]


def _uninterrupted(state: SafeSessionState, *args: Any, **options: Any) -> None:
    # Another thread may handle the next message, with another wrapper of the same state.
    with _LOCKS[id(state._state) // 16 % len(_LOCKS)]:
        # `SafeSessionState.__setattr__` would write into the session's state.
        interrupted = state._yield_callback
        object.__setattr__(state, "_yield_callback", lambda: None)
        try:
            _calls_callbacks(state, *args, **options)
        finally:
            object.__setattr__(state, "_yield_callback", interrupted)


def copy_cursors_by_value() -> None:
    """Copy the cursors, which name places on the page, by their few values.

    Streamlit copies all open places with each fragment that a page draws, by `copy.deepcopy`, which takes
    each cursor and its empty list apart: some tenth of the processor time of a whole page.
    """
    Cursor.__deepcopy__ = _copied  # type: ignore[attr-defined]


def _copied(cursor: Cursor, memo: dict[int, Any]) -> Cursor:
    copied = object.__new__(type(cursor))
    # All other values are numbers, or tuples of numbers.
    waiting = cursor._transient_elements
    copied.__dict__ = cursor.__dict__ | {
        "_transient_elements": deepcopy(waiting, memo) if len(waiting) else SparseList()
    }
    return copied
