"""Keeps the messages that were not sent yet when a run of the script begins.

Streamlit discards some of them as outdated. Where a fragment's run follows a whole page's at once, it
discards the message that makes the fragment's place on the page, while its neighbours' messages stay and are
sent first: the browser draws them into each other's places, twice or not at all, or stops ("Bad delta path").
Knows Streamlit's queue of messages, not what they draw.
"""

from __future__ import annotations

from typing import Any

from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

_clears = ForwardMsgQueue.clear


def keep_unsent_messages() -> None:
    """Discard nothing between two runs, in all sessions of this process."""
    ForwardMsgQueue.clear = _clear_sent  # type: ignore[method-assign, assignment]


def _clear_sent(queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, **_options: Any) -> None:
    if retain_lifecycle_msgs:
        # Without the index, a later message is not merged into one of the earlier run.
        queue._delta_index_map = {}
    else:
        _clears(queue)
