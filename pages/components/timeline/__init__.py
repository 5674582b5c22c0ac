"""A run by time as a Streamlit component: rows and moments in, selections and wished moments out.

Knows Streamlit, replays and the files beside it; knows no workflow. Texts reach the page in text nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from conductor.runs.replay import Replay, first_speed, speeds_for
from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.view_models.replay import read_replay, unit_of

_timeline = component(
    "conductor_timeline",
    __file__,
    html="timeline.html",
    css="timeline.css",
    js="timeline.js",
)


def run_timeline(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str,
    run: str,
    seconds: float,
    live: bool,
    recorded: float | None,
    replay: Replay | None,
    mark: str | None,
    on_replay: Callable[[Replay | None, str], None],
    revision: str = "",
    moments: Sequence[float] = (),
    path: Sequence[int] = (),
    selected: int | None = None,
    on_select: Callable[[int], None] | None = None,
    inspector: str = "",
    presented: bool = False,
) -> None:
    """Show a run; all times are seconds since it began.

    A row, one a step, is {"name", "worker", "marks", "status", "state", "label", "details", "times",
    "called", "critical", "start", "end", "first", "retries", "lanes", "calls"}; its `marks` are its workers',
    and each of its calls, in so many lanes, is {"words", "tool", "failed", "lane", "start", "end"}. `path`
    has the steps of the critical path. `moments` are others to which the player goes from one to the next
    beside those of the rows. Rows can be selected where there is `on_select`. `inspector` is the key of the
    container whose first field gets the focus when Enter is pressed. `presented`: the player alone, which
    takes the page's keys: Space, arrows, Home, End; F for the full screen.

    Of a run that can be replayed `recorded` are its seconds, None for others. `on_replay` gets the replay
    that a person asks for, with `revision` as in `Replay`, or None for the end; and the mark of the request.
    `replay` counts in the browser only where `mark` is that of the last request that was sent.
    """
    replayable = bool(recorded)

    def chosen() -> None:
        if on_select is not None:
            on_select(st.session_state[key].selected["step"])

    def wished() -> None:
        wish = trigger_value(key, "replay")
        if wish and recorded:
            now = time.time()
            replay = read_replay(wish, run=run, revision=revision, seconds=recorded, now=now)
            on_replay(replay, str(wish.get("mark")))

    # What is selected counts in the browser only where it is the answer to the last choice that was sent.
    last = st.session_state[key].selected if key in st.session_state else None
    moment = None
    if replay is not None:
        moment = {"position": replay.at(time.time()), "playing": replay.playing, "speed": replay.speed}
    data = {
        "rows": rows,
        "moments": moments,
        "run": run,
        "seconds": seconds,
        "live": live,
        "path": path,
        "unit": asdict(unit_of(seconds)),
        "selected": selected,
        "selected_at": last["at"] if last else None,
        "choosing": on_select is not None,
        "inspector": inspector,
        "replayable": replayable,
        "speeds": speeds_for(seconds),
        "first_speed": first_speed(seconds),
        "replay": moment,
        "mark": mark,
        "presented": presented,
    }
    _timeline(key=key, data=data, on_selected_change=chosen, on_replay_change=wished)
