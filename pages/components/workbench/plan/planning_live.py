"""Planning under way: the Conductor's words as they come, its thinking apart, retries, attempt and time."""

from __future__ import annotations

import time

import streamlit as st

from conductor.runs.state import RunState
from conductor.runs.step_state import Retry
from conductor.text.formatting import duration
from pages.components.tab.state import plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.text_block import text_block
from pages.components.workbench.plan.candidates import asking
from studio.workbench import Workbench


def planning(bench: Workbench, view: SessionView, *, stop: bool) -> None:
    """Draw it, or what is waited for; with a button to `stop` where the page has no other."""
    state = view.planning
    card = bench.conductor.card
    alternatives = bench.activities.live_alternatives(view.session.id)
    if alternatives is not None:
        asking(alternatives, planner=card.name)
        if stop:
            _stop(bench, view, "Stop asking; the plans that have ended are kept")
        return
    if state is None:
        _waiting(view)
        return
    with st.container(border=True, key="planning", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="planning-head"):
            st.markdown(f":material/progress_activity: **{_heading(state)}**", width="content")
            st.caption(plain(" · ".join(_facts(state))), width="stretch")
            if stop:
                _stop(bench, view, "Stop planning; the query and earlier attempts are kept")
        for retry in state.planning_retries:
            st.caption(f":material/refresh: {retry_line(retry)}")
        if state.planning_thought:
            with st.expander("Thinking", icon=":material/psychology:", key="planning-thinking"):
                text_block(
                    state.planning_thought,
                    key="planning-thought",
                    label="Thinking",
                    heading=False,
                    framed=False,
                    copy=False,
                    live=True,
                    height=160,
                )
        text_block(
            state.planning_text or _silence(state),
            key="planning-text",
            label="Plan as it is written",
            notes=[card.name, *([] if card.kind == "model" else [card.kind])],
            framed=False,
            copy=False,
            live=True,
            height=260,
        )


def _stop(bench: Workbench, view: SessionView, tip: str) -> None:
    st.button(
        "Stop",
        key="stop",
        icon=":material/stop:",
        help=tip,
        on_click=bench.running.stop,
        args=(view.session.id,),
    )


def retry_line(retry: Retry) -> str:
    """One retry, as Markdown."""
    when = f"in {duration(retry.seconds)}" if retry.seconds else "at once"
    return f"Asked again {when}: {plain(retry.reason)}"


def _heading(state: RunState) -> str:
    return "Planning" if state.round == 1 else f"Planning round {state.round}"


def _facts(state: RunState) -> list[str]:
    facts = [f"attempt {state.attempt}"]
    if state.started_at is not None:
        facts.append(f"{max(0.0, time.time() - state.started_at):.1f} s")
    return facts


def _silence(state: RunState) -> str:
    if state.started_at is None:
        return "Asking the Conductor…"
    return "Thinking; nothing written yet…" if state.planning_thought else "Waiting for the first words…"


def _waiting(view: SessionView) -> None:
    """Between planning and a run; nothing where all is about to be over."""
    state = view.state
    if view.live:
        return
    if state is None or (view.head is not None and not view.as_run):
        st.caption(":material/hourglass_top: Waiting for the run to start.")
    elif state.status == "finished" and state.round < view.settings.rounds:
        st.caption(":material/hourglass_top: Waiting for the Conductor to look at the answer.")
