"""A run by time as a Streamlit component: rows and moments in, selections and wished moments out.

Knows Streamlit and the files beside it; knows no workflow and no run. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from pages.components.streamlit_patches.component import component

_timeline = component(
    "conductor_timeline",
    __file__,
    html="timeline.html",
    css="timeline.css",
    js="timeline.js",
)


class TimelineData(TypedDict):
    """What is shown; all times are seconds since the run began.

    A row, one a step, is {"name", "worker", "marks", "status", "state", "label", "details", "times",
    "called", "critical", "start", "end", "first", "retries", "lanes", "calls"}; its `marks` are its workers',
    and each of its calls, in so many lanes, is {"words", "tool", "failed", "lane", "start", "end"}. `path`
    has the steps of the critical path, `unit` is {"name", "seconds", "digits"}. `selected` counts only where
    `selected_at` is the "at" of the last choice that was sent. `choosing`: rows can be selected.
    `inspector` is the key of the container whose first field gets the focus when Enter is pressed.
    `moments` are others to which the player goes from one to the next beside those of the rows. `replay` is
    {"position", "playing", "speed"} or None; it counts only where `mark` is that of the last request that
    was sent. `presented`: the player alone, which takes the page's keys: Space, arrows, Home, End; F for
    the full screen.
    """

    rows: Sequence[Mapping[str, Any]]
    moments: Sequence[float]
    run: str
    seconds: float
    live: bool
    path: Sequence[int]
    unit: Mapping[str, Any]
    selected: int | None
    selected_at: int | None
    choosing: bool
    inspector: str
    replayable: bool
    speeds: Sequence[float]
    first_speed: float
    replay: Mapping[str, Any] | None
    mark: str | None
    presented: bool


def run_timeline(
    data: TimelineData, *, key: str, on_select: Callable[[], None], on_replay: Callable[[], None]
) -> Any:
    """Show a run. The result, also under `st.session_state[key]`, has

    - `selected`: {"step", "at"} (state; then `on_select`);
    - `replay`: {"position", "playing", "speed", "mark"}, or only the mark where the end is to be shown
      (trigger; then `on_replay`). It is untrusted: check it.
    """
    return _timeline(key=key, data=data, on_selected_change=on_select, on_replay_change=on_replay)
