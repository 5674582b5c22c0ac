"""What was drawn reaches the browser. Knows Streamlit's queue of messages, nothing of what they draw.

When a run of the script begins, Streamlit throws away some of the messages that were not sent yet, as
outdated. Where a fragment's run follows a whole page's at once, that is the fragment's own place on the page.
What belongs to its neighbours stays and comes first: the browser draws them into each other's places, twice
or not at all, or gives up ("Bad delta path").
"""

from __future__ import annotations

from typing import Any

from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

_clears = ForwardMsgQueue.clear


def send_whole() -> None:
    """Have nothing thrown away between two runs, in all sessions of this process."""
    ForwardMsgQueue.clear = _kept  # type: ignore[method-assign, assignment]


def _kept(queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, **_options: Any) -> None:
    if retain_lifecycle_msgs:
        # As if all of it had been sent just now: what comes next is not joined with it.
        queue._delta_index_map = {}
    else:
        _clears(queue)
