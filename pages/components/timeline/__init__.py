"""A run by time as a Streamlit component: rows and moments in, selections and wished moments out.

Knows Streamlit and the files beside it; knows no workflow and no run. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pages.components.streamlit_patches.component import component

_timeline = component(
    "conductor_timeline",
    __file__,
    html="timeline.html",
    css="timeline.css",
    js="axis.js rows.js player.js timeline.js",
)


def run_timeline(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str,
    run: str,
    seconds: float,
    live: bool,
    path: Sequence[int],
    unit: Mapping[str, Any],
    selected: int | None,
    selected_at: int | None,
    choosing: bool,
    inspector: str,
    replayable: bool,
    speeds: Sequence[float],
    first_speed: float,
    replay: Mapping[str, Any] | None,
    mark: str | None,
    on_select: Callable[[], None],
    on_replay: Callable[[], None],
) -> Any:
    """Show `rows`, one a step; all times are seconds since the run began.

    A row is {"name", "worker", "status", "state", "label", "details", "times", "called", "critical", "start",
    "end", "first", "retries"}. `path` are the steps of the critical path, `unit` is {"name", "seconds",
    "digits"}. `selected` counts only where `selected_at` is the "at" of the last choice that was sent.
    `choosing`: rows can be selected.
    `replay` is {"position", "playing", "speed"} or None; it counts only where `mark` is that of the last
    request that was sent. The result, also under `st.session_state[key]`, has

    - `selected`: {"step", "at"} (state; then `on_select`);
    - `replay`: {"position", "playing", "speed", "mark"}, or only the mark where the end is to be shown
      (trigger; then `on_replay`). It is untrusted: check it.

    `inspector` is the key of the container whose first field gets the focus when Enter is pressed.
    """
    data = {
        "rows": [dict(row) for row in rows],
        "run": run,
        "seconds": seconds,
        "live": live,
        "path": list(path),
        "unit": dict(unit),
        "selected": selected,
        "selected_at": selected_at,
        "choosing": choosing,
        "inspector": inspector,
        "replayable": replayable,
        "speeds": list(speeds),
        "first_speed": first_speed,
        "replay": None if replay is None else dict(replay),
        "mark": mark,
    }
    return _timeline(key=key, data=data, on_selected_change=on_select, on_replay_change=on_replay)
