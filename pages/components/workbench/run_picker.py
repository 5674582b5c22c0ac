"""Which of a session's runs a view below the graph shows: the page's, until a person chooses another one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.tab.state import TabState
from pages.components.view_models.comparable import clock
from pages.components.view_models.session import SessionView
from pages.components.view_models.statuses import state_label
from storage import RunRecord
from studio.workbench import Workbench


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
