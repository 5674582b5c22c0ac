"""The pane beside the graph: the answer, the selected step, or what is written just now. For an audience
it has nothing that changes them.

The server draws all three; which one is seen is decided in the browser, at once.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.workflow.model import Step
from pages.components.panes import Phase, reading_tabs
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import author_notes
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import session_comparison
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import calls_before, reasoning_view, status_badge
from pages.components.workbench.editor import Editor
from pages.components.workbench.following.live import budget_meter, live_planning, progress, streaming
from pages.components.workbench.following.live_refresh import CurrentView, notification
from pages.components.workbench.outcome.answer import earlier_rounds, outcome
from pages.components.workbench.planning.plan import attempts, no_plan, plan_panel, why_this_plan
from pages.components.workbench.planning.proposed_change import why_this_change
from pages.components.workbench.question.conversation import conversation_view, turns_view
from pages.components.workbench.step.inspector import PARTS, inspector, noted_output, preview_steps, state_of
from pages.components.workbench.step.notes import loose_notes, step_notes
from pages.components.workbench.step.request_view import sight
from studio.workbench import Workbench

_BEGINNING = 60
"""Characters from which on a running step's words fill the pane of an audience."""


def reading_pane(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    view = current.of_page
    with st.container(key="read-pane", gap=None):
        # The tabs come with the step, so that they know which one has been drawn.
        current.fragment("inspector", partial(_step, bench, tab), follows="step")
        if not tab.watched:
            with st.container(key="read-preview"):
                preview_steps(bench, view)
        with st.container(key="read-answer", gap="small"):
            _answer(bench, tab, current)
        with st.container(key="read-live", gap="small"):
            _live(bench, tab, current)


def _step(bench: Workbench, tab: TabState, view: SessionView) -> None:
    reading_tabs(
        # What is shown first before an audience does not depend on what was read before.
        session=f"{view.session.id}{' presented' if tab.presents else ''}",
        phase=_phase(view),
        started_at=0 if view.run is None else view.run.started_at,
        step=tab.selected,
        selection=tab.selection_revision,
        part=tab.part,
    )
    with st.container(key="read-step"):
        (_watched_step if tab.watched else inspector)(bench, tab, view)


def _watched_step(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step; before an audience its output only."""
    with st.container(key="inspector", gap="small"):
        head, at = view.head, tab.selected
        if head is None or at is None or at >= len(head.workflow):
            st.caption("Select a step in the graph to see what it does and what it answered.")
            return
        step, key = head.workflow.steps[at], f"{view.session.id}-{at}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-head"):
            st.subheader(plain(step_name(head.workflow, at), limit=80), anchor=False)
            st.caption(plain(step.worker), width="content")
        if tab.presents:
            _watched_output(bench, tab, view, at, step)
            return
        output, instruction, saw, reasoning = st.tabs(list(PARTS), key=f"watched-parts-{key}")
        with output:
            _watched_output(bench, tab, view, at, step)
        with instruction:
            rendered_text(step.instruction, key=f"instruction-{key}", label="Instruction", heading=False)
            reads = ", ".join(step_name(head.workflow, read) for read in step.access)
            st.caption(plain(f"Can see: {reads}" if reads else "Can see only the question", limit=1000))
        with saw:
            editor = Editor(bench, tab, view.session.id, head)
            sight(editor, view, at, state_of(bench, view, at))
        with reasoning:
            state = state_of(bench, view, at)
            notes = step_notes(
                bench, tab, view, "reasoning", "" if state is None else state.reasoning, step=at
            )
            reasoning_view(state, key=key, notable=None if notes is None else notes.notable())
            if notes is not None:
                notes.draw()


def _watched_output(bench: Workbench, tab: TabState, view: SessionView, at: int, step: Step) -> None:
    state = state_of(bench, view, at)
    if state is None:
        st.caption("Not run yet.")
        return
    status_badge(state)
    calls_before(state, key=f"{view.session.id}-{at}")
    noted_output(bench, tab, view, at, state, worker=step.worker)


def _phase(view: SessionView) -> Phase:
    if view.replay is not None:
        return "replay"
    if view.locked:
        return "live"
    return "ready" if view.state is None else "done"


def _answer(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """The answer, and how it came about: the rounds and the conversation before, why this plan."""
    view = current.of_page
    # What the Conductor was asked after the workflow shown, where that gave no other one.
    is_proposed = False
    if not view.busy and not tab.watched:
        no_plan(bench, tab, view)
        is_proposed = not tab.presents and why_this_change(bench, view)
    ran = view.state is not None and view.state.workflow is not None
    if ran:
        current.fragment("answer", partial(outcome, bench, tab))
    elif not view.locked:
        st.caption("Nothing has run yet. Run the workflow to see its answer here.")
    if tab.presents:
        return
    earlier_rounds(bench, tab, view.session.id)
    if view.plan is not None and view.head is not None and not is_proposed:
        (why_this_plan if ran else plan_panel)(view.plan, view.planned)
    loose_notes(bench, tab, view)
    turns_view(bench, tab, view)
    conversation_view(view.session)
    if not tab.watched:
        session_comparison(bench.store, view.session.id)


def _live(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """What is written just now."""
    view = current.of_page
    if view.busy and not view.live:
        live_planning(bench, current, stop=view.head is None and not tab.watched)
        if view.head is None and not tab.watched:
            attempts(bench.store.plans.of_session(view.session.id), of=view.latest_plan, elsewhere=None)
    elif view.live:
        current.fragment("live", _presented if tab.presents else _running, follows="live")
    else:
        st.caption("Nothing is running. During a run, the words of each step appear here.")
    if not tab.watched and not tab.presents:
        notification(view.session)


def _running(view: SessionView) -> None:
    if view.state is not None and view.state.live:
        progress(view.state)
        budget_meter(view)
        streaming(view)


def _presented(view: SessionView) -> None:
    """The same for an audience: what is written, and what was finished last."""
    state = view.state
    if state is None or not state.live or state.workflow is None:
        return
    running = [step for step in state.steps if step.status == "running"]
    streaming(view, height={1: 380, 2: 170}.get(len(running), 100), steady=len(running) > 1)
    # A step that has begun to write is what is looked at.
    if any(len(step.text) > _BEGINNING for step in running):
        return
    ended = [at for at, step in enumerate(state.steps) if step.text and step.finished_at is not None]
    if ended:
        at = max(ended, key=lambda at: state.steps[at].finished_at or 0.0)
        own = state.workflow.steps[at].worker
        rendered_text(
            state.steps[at].text,
            key=f"finished-{state.run}-{at}",
            label=step_name(state.workflow, at),
            notes=["finished last", *author_notes(own, state.steps[at])],
            copy=False,
        )
