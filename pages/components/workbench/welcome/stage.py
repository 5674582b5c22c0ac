"""The stage of the start page: a recorded run that plays in the graph, in memory, until a person changes it.

It plays once by itself, where the browser's settings allow motion; a change of it makes a session of one's
own. Knows the tab and the gallery; stores nothing before a change.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from conductor.errors import ConductorError
from conductor.runs.replay import Replay
from conductor.workflow.model import Workflow
from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.workbench.canvas import graph
from pages.components.workbench.editor import Editor
from pages.components.workbench.following.live import streaming
from pages.components.workbench.following.live_refresh import CurrentView
from studio.gallery import RECORDED, able_workers, open_recorded, recorded_run
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd

_PLAYED = "stage-played"
_BEGIN = "stage-begin"
_SPEED = 1.0

# The step that is offered to another worker, and the edge that is offered to be removed; both from 0.
_OFFERED_STEP = 2
_OFFERED_EDGE = (2, 4)

_begin = component(
    "conductor_stage", __file__, html='<div class="stage-begin"></div>', js="stage.js", isolated=False
)


class Stage(CurrentView):
    """The recording for one run of the page. It stands at its beginning until the browser has it play."""

    def __init__(self, bench: Workbench, tab: TabState) -> None:
        self.recorded = RECORDED[0]
        self.of_file = recorded_run(self.recorded)
        self.waits = _PLAYED not in st.session_state
        if self.waits and tab.replay is None:
            tab.replay = self._replay_from(0.0)
        super().__init__(bench, tab, self.of_file.session.id)

    def _load(self, replay: Replay | None) -> SessionView:
        over = replay is None or replay.run != self.of_file.run.id or replay.over(time.time())
        return SessionView.of_recording(self.of_file, None if over else replay)

    def _replay_from(self, position: float, *, since: float | None = None) -> Replay:
        return Replay(
            run=self.of_file.run.id,
            revision=self.of_file.head.id,
            seconds=self.of_file.recording.seconds,
            position=position,
            speed=_SPEED,
            playing_since=since,
        )

    def begin(self) -> None:
        """Draw what lets the browser begin, and gives the question's box the focus."""

        def on_begin() -> None:
            how = trigger_value(_BEGIN, "begin")
            if how in ("play", "end") and self.waits:
                st.session_state[_PLAYED] = True
                self._tab.replay = self._replay_from(0.0, since=time.time()) if how == "play" else None
            self._tab.ask_redraw()

        _begin(key=_BEGIN, data={"waits": self.waits}, height=1, on_begin_change=on_begin)

    def play_or_pause(self) -> None:
        """Play on, or from the beginning; pause what plays."""
        st.session_state[_PLAYED] = True
        now, replay = time.time(), self._tab.replay
        if replay is None or replay.over(now):
            self._tab.select(None)
            self._tab.replay = self._replay_from(0.0, since=now)
        else:
            since = None if replay.playing else now
            self._tab.replay = replace(replay, position=replay.at(now), playing_since=since)


class _RecordedEditor(Editor):
    """Edits of the recording: the first one makes a session of it, which is opened."""

    def commit(
        self,
        edit: Callable[[], Workflow],
        note: str,
        *,
        select: int | None = None,
        restores: str | None = None,
    ) -> EditEnd:
        """See `Editor.commit`; nothing is restored in a recording."""
        if restores is not None or self.tab.pressed_again("stage-edit"):
            return EditEnd.REFUSED
        try:
            revision = self.bench.editing.edit_recorded(RECORDED[0], edit(), note=note)
        except ConductorError as error:
            self.tab.notify("error", str(error), place="stage")
            return EditEnd.REFUSED
        self.tab.open(revision.session)
        self.tab.note_own(revision.id, renumbered=True)
        if select is not None:
            self.tab.select(select)
        return EditEnd.APPLIED


def stage(bench: Workbench, tab: TabState, current: Stage) -> None:
    """Draw it: the question, the graph, what is written beside it, and what can be changed."""
    view = current.of_page
    editor = _RecordedEditor(bench, tab, view.session.id, current.of_file.head)
    with st.container(key="stage", gap=None):
        with st.container(key="stage-head", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(view.session.query)}**", width="stretch")
            st.badge(plain(f"Recorded: {current.recorded.label}"), icon=":material/history:", color="gray")
            playing = view.replay is not None and view.replay.playing
            action(
                "Pause" if playing else "Play",
                "pause" if playing else "play_arrow",
                current.play_or_pause,
                key="stage-play",
                type="tertiary",
            )
            action(
                "Open",
                "open_in_full",
                partial(_open, bench, tab, current),
                key="stage-open",
                type="tertiary",
                place="stage",
                help="Open the recording in the workbench: its timeline, what each step saw",
            )
        with st.container(key="stage-body", horizontal=True, gap=None):
            with st.container(key="stage-graph", gap=None):
                current.fragment("canvas", partial(graph, bench, tab, editor=editor), follows="always")
            with st.container(key="stage-read", gap="small"):
                current.fragment("inspector", partial(_read, tab), follows="always")
    tab.show_notice("stage")
    with row("stage-invites"):
        st.markdown("**Change it:** only what your change touches runs again.", width="content")
        read, reader = _OFFERED_EDGE
        action(
            "Remove an edge",
            "link_off",
            partial(editor.access, reader, lose=[read]),
            key="invite-edge",
            help=f"Step {reader + 1} no longer reads step {read + 1}",
        )
        worker = able_workers(bench.pool)[0].name
        action(
            f"Give step {_OFFERED_STEP + 1} to another worker",
            "swap_horiz",
            partial(_give, editor, worker),
            key="invite-worker",
            help=f"To {plain(worker)}, of your pool",
        )
        action("Ask your own", "edit", lambda: None, key="invite-ask", redraw=False)


def _give(editor: Editor, worker: str) -> None:
    editor.worker(_OFFERED_STEP, worker)
    if editor.tab.session is not None:
        editor.tab.select(_OFFERED_STEP)


def _open(bench: Workbench, tab: TabState, current: Stage) -> None:
    if not tab.pressed_again("stage-open"):
        tab.open(open_recorded(bench.store, current.recorded).id)


def _read(tab: TabState, view: SessionView) -> None:
    """The selected step's output, else what is written just now, else the answer."""
    state, head, at = view.state, view.head, tab.selected
    if state is None or head is None:
        return
    if at is not None and at < len(state.steps):
        step = state.steps[at]
        rendered_text(
            step.text or "Nothing yet.",
            key=f"stage-step-{at}",
            label=step_name(head.workflow, at),
            notes=[head.workflow.steps[at].worker],
            framed=False,
            copy=False,
        )
    elif state.live:
        running = sum(step.status == "running" for step in state.steps)
        streaming(view, height={1: 300, 2: 150}.get(running, 84), noted=False)
    else:
        rendered_text(state.answer or "", key="stage-answer", label="Answer", framed=False)
