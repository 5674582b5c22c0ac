"""A run by time: its bars and its player, and below them what each access edge cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from conductor.report.words import STATUSES
from conductor.runs.replay import Recording, Replay, first_speed, speeds_for
from conductor.runs.state import RunState
from conductor.runs.timeline import NOTHING, Row, Timeline, timeline_of
from conductor.runs.what_if import WithoutEdge, without_edges
from conductor.text.formatting import duration
from pages.components.tab.state import TabState, plain
from pages.components.timeline import run_timeline
from pages.components.view_models.replay import asked, recording, unit_of
from pages.components.view_models.run_text import clock, state_label
from pages.components.view_models.session import SessionView
from pages.components.view_models.timeline_text import (
    RowText,
    edge_sentences,
    edge_table,
    no_sentences,
    path_text,
    row_text,
    takes_no_time,
)
from storage import RunRecord
from studio.workbench import Workbench

REPLAYED = ("replay", "canvas", "inspector", "replayed-texts")
"""The page's fragments that show a moment of a replay; where it stands still, a seek changes no other."""


_SEEN_ROWS = 12
"""Rows of the list of all edges that are seen without scrolling."""


def timeline_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw a run whole: a replay of it moves over the bars."""
    if view.run is None or view.head is None:
        return
    run = run_choice(bench, tab, view) or view.run
    state = bench.state(run)
    if state.workflow is None:
        return
    # What was not kept of a run cannot be replayed.
    kept = not state.live and bench.unsaved(run) is None
    recorded = recording(bench.store, run.id) if kept else None
    timeline = timeline_of(state, now=time.time(), moments=NOTHING if recorded is None else recorded.moments)
    if not state.tells_of(view.head.workflow):
        st.caption("Of a run of another workflow than the one above; its replay shows that one.")
    _bars(tab, view, run, state=state, timeline=timeline, recorded=recorded)
    _edges(state, timeline, key=run.id)


def _bars(
    tab: TabState,
    view: SessionView,
    run: RunRecord,
    *,
    state: RunState,
    timeline: Timeline,
    recorded: Recording | None,
) -> None:
    key = f"timeline-{view.session.id}"
    # In a replay, the workflow shown is the run's; the replay knows which one the session has.
    revision = view.replay.revision if view.replay is not None else view.head.id if view.head else ""
    replayable = recorded is not None and recorded.seconds > 0

    def selected() -> None:
        tab.select(st.session_state[key].selected["step"])
        tab.redraw(["canvas", "inspector"])

    def wished() -> None:
        wish = st.session_state[key].replay
        if not wish or recorded is None:
            return
        replay = asked(wish, run=run.id, revision=revision, seconds=recorded.seconds, now=time.time())
        tab.follow(replay, mark=str(wish.get("mark")))
        if view.replay is not None and replay is not None and not (view.replay.playing or replay.playing):
            tab.redraw(REPLAYED)
        tab.ask_redraw()

    words = row_text(state, timeline)
    chosen = st.session_state[key].selected if key in st.session_state else None
    run_timeline(
        [_row(row, said, timeline) for row, said in zip(timeline.rows, words, strict=True)],
        key=key,
        run=run.id,
        seconds=timeline.seconds,
        live=timeline.live,
        path=timeline.path,
        unit=asdict(unit_of(timeline.seconds)),
        selected=tab.selected,
        selected_at=chosen["at"] if chosen else None,
        choosing=view.head is not None and state.tells_of(view.head.workflow),
        inspector="inspector",
        replayable=replayable,
        speeds=speeds_for(timeline.seconds),
        first_speed=first_speed(timeline.seconds),
        replay=None if view.replay is None else _standing(view.replay),
        mark=tab.replay_mark,
        on_select=selected,
        on_replay=wished,
    )


def _row(row: Row, said: RowText, timeline: Timeline) -> dict[str, Any]:
    """A row as the component takes it."""
    times = [row.start, row.end, row.seconds]
    return {
        "name": said.name,
        "worker": said.worker,
        "label": said.label,
        "details": list(said.details),
        "status": row.status,
        "state": STATUSES[row.status],
        "called": row.part == "called",
        "critical": row.step in timeline.path,
        "start": row.start,
        "end": row.end,
        "first": row.first_word,
        "retries": list(row.retries),
        "times": ["-" if at is None else duration(at) for at in times],
    }


def _standing(replay: Replay) -> dict[str, Any]:
    return {"position": replay.at(time.time()), "playing": replay.playing, "speed": replay.speed}


def _edges(state: RunState, timeline: Timeline, *, key: str) -> None:
    """The critical path and what the edges cost: the worst first, all of them on demand."""
    for said in filter(None, (path_text(timeline), takes_no_time(timeline))):
        st.caption(plain(said))
    edges = without_edges(state, timeline)
    if not edges:
        if said := no_sentences(state):
            st.caption(said)
        return
    with st.container(gap="xsmall"):
        for said in edge_sentences(edges, timeline):
            st.markdown(plain(said))
    st.caption(
        "Calculated from the measured times, as if every step took as long as it did. Without an edge its "
        "reader gets another request, so its answer and its time may differ."
    )
    _all_edges(edges, key=key)


def _all_edges(edges: tuple[WithoutEdge, ...], *, key: str) -> None:
    box = st.expander(
        f"All {len(edges)} edges" if len(edges) > 1 else "The edge",
        icon=":material/timeline:",
        key=f"edges-{key}",
        on_change="rerun",
    )
    if not box.open:
        return
    with box, st.container(height=440 if len(edges) > _SEEN_ROWS else "content", border=False):
        st.table(edge_table(edges))


def run_choice(bench: Workbench, tab: TabState, view: SessionView) -> RunRecord | None:
    """Offer the session's runs that are over, where there are several; the one that counts, None without any.

    A choice counts until the page shows another run automatically.
    """
    if view.run is None or (view.live and view.replay is None):
        return view.run
    runs = [run for run in bench.store.runs.of_session(view.session.id) if run.status != "running"]
    if len(runs) < 2:
        return view.run
    shown = _Shown(view)
    by_id = {run.id: run for run in runs}
    run = by_id.get(shown.run, view.run)
    key = f"run-choice-{view.session.id}"
    st.session_state[key] = run.id

    def chosen() -> None:
        shown.choose(st.session_state[key])
        if tab.replay is not None:
            tab.leave_replay()
            tab.ask_redraw()

    names = run_names(runs)
    st.selectbox(
        "Run",
        list(by_id),
        key=key,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        width=360,
        on_change=chosen,
    )
    return run


def run_names(runs: Sequence[RunRecord]) -> dict[str, str]:
    """Runs by id as a list names them; `runs` are all of a session's, the newest first."""
    named = {}
    for at, run in enumerate(runs):
        said = [f"Run {len(runs) - at} of {len(runs)}", state_label(run.status), clock(run.started_at)]
        said += [f"round {run.round}"] if run.round > 1 else []
        named[run.id] = " · ".join(said)
    return named


class _Shown:
    """What the tab remembers: the run that the page showed, and which one was chosen instead."""

    def __init__(self, view: SessionView) -> None:
        self._key = f"run-chosen-{view.session.id}"
        by_itself = view.run.id if view.run is not None else None
        base, self.run = st.session_state.get(self._key, (by_itself, by_itself))
        if view.replay is not None:
            self._base, self.run = base, by_itself
        elif base != by_itself:
            self._base = self.run = by_itself
        else:
            self._base = base

    def choose(self, run: str) -> None:
        """Show `run` until the page shows another one automatically."""
        self.run = run
        st.session_state[self._key] = (self._base, run)
