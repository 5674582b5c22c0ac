"""A run by time: its bars and its player, and below them what each access edge cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from conductor.drawing.marks import Mark
from conductor.report.words import STATUSES
from conductor.runs.replay import Recording, Replay
from conductor.runs.state import RunState
from conductor.runs.timed_call import TimedCall
from conductor.runs.timeline import NOTHING, EdgeSaving, Timeline, TimelineRow, timeline_of, without_edges
from conductor.text.formatting import duration
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import TabState, plain
from pages.components.timeline import run_timeline
from pages.components.view_models.replay import recording
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
from pages.components.view_models.workflow.card_content import worker_marks
from pages.components.widgets.controls import expander
from pages.components.widgets.labels import distinct_labels
from storage import RunRecord
from studio.workbench import Workbench

_SEEN_ROWS = 12
"""Rows of the list of all edges that are seen without scrolling."""


def timeline_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw a run whole: a replay of it moves over the bars."""
    run = _run_choice(bench, tab, view)
    contents = None if run is None else _read(bench, run)
    if run is None or view.head is None or contents is None:
        st.caption("Nothing has run yet. Run the workflow to see how long each step takes.")
        return
    state, timeline, recorded = contents
    if not state.is_run_of(view.head.workflow):
        st.caption("This run had a different workflow; its replay shows it.")
    _bars(bench, tab, view, run, state=state, timeline=timeline, recorded=recorded)
    _edges(state, timeline, key=run.id)


def player(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw what replays the run shown, alone, before an audience."""
    contents = None if view.run is None else _read(bench, view.run)
    if view.run is not None and contents is not None:
        state, timeline, recorded = contents
        _bars(bench, tab, view, view.run, state=state, timeline=timeline, recorded=recorded)


def _read(bench: Workbench, run: RunRecord) -> tuple[RunState, Timeline, Recording | None] | None:
    """A run by time, and what of it can be replayed, or None before its start."""
    state = bench.state(run)
    if state.workflow is None:
        return None
    # What was not kept of a run cannot be replayed.
    is_kept = not state.live and bench.unsaved(run) is None
    recorded = recording(bench.store, run.id) if is_kept else None
    moments = NOTHING if recorded is None else recorded.moments
    return state, timeline_of(state, now=time.time(), moments=moments), recorded


def _bars(
    bench: Workbench,
    tab: TabState,
    view: SessionView,
    run: RunRecord,
    *,
    state: RunState,
    timeline: Timeline,
    recorded: Recording | None,
) -> None:
    # In a replay, the workflow shown is the run's; the replay knows which one the session has.
    revision = view.replay.revision if view.replay is not None else view.head.id if view.head else ""

    def selected(step: int) -> None:
        tab.select(step)
        tab.redraw(["canvas", "inspector"])

    def wished(replay: Replay | None, mark: str) -> None:
        tab.replay, tab.replay_mark = replay, mark
        tab.ask_redraw()

    texts = row_text(state, timeline)
    workers = [*(state.workflow.workers() if state.workflow else ()), *(words.worker for words in texts)]
    own = worker_marks(bench.pool.cards, *workers)
    run_timeline(
        [
            _row(row, words, timeline, own.get(words.worker))
            for row, words in zip(timeline.rows, texts, strict=True)
        ],
        key=f"timeline-{view.session.id}",
        run=run.id,
        seconds=timeline.seconds,
        live=timeline.live,
        recorded=None if recorded is None else recorded.seconds,
        replay=view.replay,
        mark=tab.replay_mark,
        on_replay=wished,
        revision=revision,
        path=timeline.path,
        selected=tab.selected,
        on_select=selected if view.head is not None and state.is_run_of(view.head.workflow) else None,
        inspector="inspector",
        presented=tab.presents,
    )


def _row(row: TimelineRow, words: RowText, timeline: Timeline, mark: Mark | None) -> dict[str, Any]:
    """A row as the component takes it."""
    times = [row.start, row.end, row.seconds]
    return {
        "name": words.name,
        "worker": words.worker,
        "marks": [] if mark is None else [asdict(mark)],
        "label": words.label,
        "details": list(words.details),
        "status": row.status,
        "state": STATUSES[row.status],
        "called": row.part == "called",
        "critical": row.step in timeline.path,
        "start": row.start,
        "end": row.end,
        "first": row.first_word,
        "retries": list(row.retries),
        "lanes": row.lanes,
        "calls": [
            _call(call, text, row, timeline) for call, text in zip(row.calls, words.calls, strict=True)
        ],
        "times": ["-" if at is None else duration(at) for at in times],
    }


def _call(call: TimedCall, words: str, row: TimelineRow, timeline: Timeline) -> dict[str, Any]:
    """A call of a row as the component takes it."""
    end = row.end if call.ended_at is None else call.ended_at
    return {
        "words": words,
        "tool": call.tool is not None,
        "failed": call.failed,
        "lane": min(call.lane, row.lanes - 1),
        "start": max(0.0, call.started_at),
        "end": timeline.seconds if end is None else end,
    }


def _edges(state: RunState, timeline: Timeline, *, key: str) -> None:
    """The critical path and what the edges cost: the worst first, all of them on demand."""
    for sentence in filter(None, (path_text(timeline), takes_no_time(timeline))):
        st.caption(plain(sentence))
    edges = without_edges(state, timeline)
    if not edges:
        if why := no_sentences(state):
            st.caption(why)
        return
    with st.container(gap="xsmall"):
        for sentence in edge_sentences(edges, timeline):
            st.markdown(plain(sentence))
    st.caption(
        "Calculated from the measured times. Without an edge, its reader gets a different request, so "
        "its answer and time may differ."
    )
    _all_edges(edges, key=key)


def _all_edges(edges: tuple[EdgeSaving, ...], *, key: str) -> None:
    label = f"All {len(edges)} edges" if len(edges) > 1 else "The edge"
    box = expander(label, "timeline", key=f"edges-{key}")
    if box is None:
        return
    with box, st.container(height=440 if len(edges) > _SEEN_ROWS else "content", border=False):
        st.table(edge_table(edges))


def _run_choice(bench: Workbench, tab: TabState, view: SessionView) -> RunRecord | None:
    """Offer the session's runs that are over, where there are several; the one that counts, None without any.

    A choice counts until the page shows another run automatically.
    """
    if view.run is None or (view.live and view.replay is None):
        return view.run
    runs = {run.id: run for run in bench.store.runs.of_session(view.session.id) if run.status != "running"}
    if len(runs) < 2:
        return view.run
    chosen_key = f"run-chosen-{view.session.id}"
    # What the tab remembers: the run that the page showed, and which one was chosen instead.
    instead_of, chosen = st.session_state.get(chosen_key, (view.run.id, view.run.id))
    if view.replay is not None:
        chosen = view.run.id
    elif instead_of != view.run.id:
        instead_of = chosen = view.run.id
    run = runs.get(chosen, view.run)
    key = show_stored(f"run-choice-{view.session.id}", run.id)

    def choose(run: str) -> None:
        st.session_state[chosen_key] = (instead_of, run)
        if tab.replay is not None:
            tab.leave_replay()
            tab.ask_redraw()

    st.selectbox(
        "Run",
        list(runs),
        key=key,
        format_func=distinct_labels(run_names([*runs.values()])),
        label_visibility="collapsed",
        width=360,
        on_change=on_choice(key, choose),
    )
    return run


def run_names(runs: Sequence[RunRecord]) -> dict[str, str]:
    """Runs by id as a list names them; `runs` are all of a session's, the newest first."""
    named = {}
    for at, run in enumerate(runs):
        parts = [f"Run {len(runs) - at} of {len(runs)}", state_label(run.status), clock(run.started_at)]
        parts += [f"round {run.round}"] if run.round > 1 else []
        named[run.id] = " · ".join(parts)
    return named
