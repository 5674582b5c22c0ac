"""Workflows to start from, each opened as a new session with a question of one's own, and recorded sessions.

Knows the gallery and the tab; how a workflow is given to the pool's workers is the gallery's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import cast

import streamlit as st

from conductor.errors import ConductorError
from conductor.runs.replay import Replay, first_speed
from conductor.text.formatting import quantity
from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.streamlit_patches.initial_values import show_first
from pages.components.tab.state import TabState, plain
from pages.components.view_models.replay import recording
from pages.components.widgets.controls import action
from pages.components.workbench.question.composer import chosen_settings
from studio.gallery import (
    GALLERY,
    RECORDED,
    GalleryEntry,
    Recorded,
    needs_models,
    open_recorded,
    workflow_for,
)
from studio.workbench import Workbench

_OPEN = "gallery-open"
_COLUMNS = 4

_ICONS = {
    "research-report": "article",
    "code-review": "code",
    "maths-check": "calculate",
    "debate": "forum",
    "mixture-of-agents": "hub",
    "translate-check": "translate",
    "plan-execute-verify": "checklist",
    "summarise": "summarize",
}


@dataclass(frozen=True)
class Opened:
    """The entry whose dialog is open. A new `serial` makes a new field."""

    entry: GalleryEntry
    serial: int

    @property
    def key(self) -> str:
        """The key of its field."""
        return f"gallery-query-{self.serial}"


def gallery(bench: Workbench, tab: TabState) -> None:
    """Draw it, and the dialog where one is open."""
    st.subheader("Start from a workflow", anchor=False)
    for first in range(0, len(GALLERY), _COLUMNS):
        for column, entry in zip(st.columns(_COLUMNS), GALLERY[first : first + _COLUMNS], strict=False):
            with column.container(gap="xsmall"):
                action(
                    entry.title,
                    _ICONS[entry.name],
                    _open,
                    entry,
                    key=f"gallery-{entry.name}",
                    width="stretch",
                )
                st.caption(entry.sentence)
    st.subheader("Watch a run", anchor=False)
    tab.show_notice("gallery")
    for column, recorded in zip(st.columns(len(RECORDED)), RECORDED, strict=True):
        with column.container(gap="xsmall"):
            action(
                recorded.title.partition(": ")[2].capitalize(),
                "play_circle",
                partial(_watch, bench, tab, recorded),
                key=f"recorded-{recorded.name}",
                width="stretch",
                place="gallery",
            )
            st.caption(f"Recorded: {recorded.label}. {recorded.sentence}")
    if _opened() is not None:
        _show_dialog(bench)


# -- a workflow --------------------------------------------------------------------------------------


def _opened() -> Opened | None:
    return cast("Opened | None", st.session_state.get(_OPEN))


def _open(entry: GalleryEntry) -> None:
    last = st.session_state.get("gallery-serial", 0)
    st.session_state["gallery-serial"] = last + 1
    st.session_state[_OPEN] = Opened(entry, last + 1)


def _close() -> None:
    st.session_state[_OPEN] = None


def _show_dialog(bench: Workbench) -> None:
    opened = _opened()
    assert opened is not None
    dialog_theme()
    st.dialog(opened.entry.title, width="medium", on_dismiss=_close)(_draw)(bench)


def _draw(bench: Workbench) -> None:
    opened, tab = _opened(), TabState()
    if opened is None:
        st.rerun()
        return
    entry = opened.entry
    workflow = workflow_for(entry, bench.pool)
    workers = ", ".join(workflow.workers())
    st.markdown(entry.sentence)
    show_first(opened.key, entry.example)
    st.text_area(entry.fill_in, key=opened.key, height=220)
    st.caption(plain(f"{quantity(len(workflow), 'step')}, by {workers}. Each can be changed before it runs."))
    if needs_models(bench.pool):
        st.warning(
            "This pool has no language model, so the steps will decline. "
            "It can be opened and edited; to run it, add a model first.",
            icon=":material/cloud_off:",
        )
    tab.show_notice("gallery-dialog")
    with st.container(horizontal=True):
        for label, runs in (("Open", False), ("Open and run", True)):
            st.button(
                label,
                key=f"gallery-begin-{runs}".lower(),
                type="primary" if runs else "secondary",
                on_click=_begin,
                args=(bench, tab, opened),
                kwargs={"run": runs},
            )


def _begin(bench: Workbench, tab: TabState, opened: Opened, *, run: bool) -> None:
    if tab.pressed_again("gallery-begin"):
        return
    try:
        query = st.session_state.get(opened.key) or ""
        session = bench.editing.open_gallery(opened.entry, query, settings=chosen_settings(bench, tab))
        tab.open(session.id)
        _close()
        if run:
            bench.running.start(session.id)
    except ConductorError as error:
        tab.notify("error", str(error), place="gallery-dialog" if _opened() else "run")


# -- a recorded session ------------------------------------------------------------------------------


def _watch(bench: Workbench, tab: TabState, recorded: Recorded) -> None:
    """Open the session, at the beginning of its run, which plays."""
    if tab.pressed_again(f"watch-{recorded.name}"):
        return
    session = open_recorded(bench.store, recorded)
    tab.open(session.id)
    runs = bench.store.runs.of_session(session.id)
    if not runs or session.head is None:
        return
    seconds = recording(bench.store, runs[-1].id).seconds
    tab.replay = Replay(
        run=runs[-1].id,
        revision=session.head,
        seconds=seconds,
        speed=first_speed(seconds),
        playing_since=time.time(),
    )
