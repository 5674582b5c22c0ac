"""The bar over the panes: title, state, undo and redo, run, share; in a replay, its moment."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.page_part import PagePart, shows
from pages.components.tab.state import TabState, plain
from pages.components.view_models.replay import moment_text
from pages.components.view_models.session import SessionView, state_text
from pages.components.widgets.controls import action, row
from pages.components.workbench.bar.run import run_buttons
from pages.components.workbench.bar.share import share
from pages.components.workbench.editor import redo, undo
from pages.components.workbench.following.live_refresh import CurrentView
from pages.components.workbench.on_data import start_on_data
from storage import Session
from studio.evaluation.on_data import came_from, plan_of_revision
from studio.workbench import Workbench

focus_fallback("undo", "redo", "share")
focus_fallback("redo", "undo", "share")
focus_fallback("replay-end", "run", "share")
# Drawn again where a session begins to be presented, and where that ends.
focus_fallback("present")

_VIEW_ONLY = "You see this session live: its plan, its run, its answer. You cannot change anything here."


def bar(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """Draw it for the session of `current`."""
    view = current.of_page
    with st.container(key="bar", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        if tab.view_only is None:
            _title(bench, tab, view.session)
        else:
            with st.container(key="session-head"):
                st.title(plain(view.session.title, limit=90), anchor=False)
                st.markdown(f"**{plain(view.session.title, limit=90)}**")
            with st.container(key="view-only"):
                st.badge("View only", icon=":material/visibility:", color="primary", help=_VIEW_ONLY)
        if label := (view.session if view.run is None else view.run).pool_label:
            st.badge(label, icon=":material/cloud_off:", color="gray")
        with st.container(key="bar-state"):
            current.fragment("state", _state, follows="always")
        if view.replay is not None:
            with st.container(horizontal=True, key="toolbar", gap="xsmall", width="content", wrap=False):
                action("End replay", "last_page", tab.leave_replay, key="replay-end", type="primary")
                _present(tab)
        elif tab.view_only is not None:
            with st.container(horizontal=True, key="toolbar", gap="xsmall", width="content", wrap=False):
                _present(tab)
        elif view.head is not None:
            with st.container(
                horizontal=True,
                vertical_alignment="center",
                key="toolbar",
                gap="xsmall",
                width="content",
                wrap=False,
            ):
                evaluate(bench, view)
                _undo_and_redo(bench, tab, view)
                current.fragment("run", partial(run_buttons, bench, tab))
                current.fragment("share", partial(share, bench, tab))
                _present(tab)


def _present(tab: TabState) -> None:
    tip = "Present (P): graph and answer in large letters, for an audience"
    action("Present", "slideshow", tab.present, key="present", help=tip, type="tertiary")


def _title(bench: Workbench, tab: TabState, session: Session) -> None:
    """The title, to be changed where it stands; a heading for screen readers."""
    key = f"title-{session.id}"

    def renamed(title: str) -> None:
        if title.strip() and title.strip() != session.title:
            bench.store.sessions.rename(session.id, title.strip())

    with st.container(key="session-head"):
        st.title(plain(session.title, limit=90), anchor=False)
        st.text_input(
            "Title",
            key=key,
            label_visibility="collapsed",
            on_change=shows(tab, key, session.title, renamed),
        )


def _state(view: SessionView) -> None:
    if view.replay is not None:
        moment = moment_text(view.replay.at(time.time()), view.replay.seconds)
        with row("replay-state"):
            st.badge(plain(f"Replay, {moment}"), icon=":material/history:", color="primary")
            st.caption("This is a replay of a finished run. End it to edit or run.")
    elif view.head is not None:
        st.caption(plain(state_text(view, now=time.time())))


def _undo_and_redo(bench: Workbench, tab: TabState, view: SessionView) -> None:
    part = None if view.head is None else PagePart(tab, view.head, place="page")
    for name, key, target, edit, go in (
        ("Undo", "Ctrl+Z", view.undo, view.head, undo),
        ("Redo", "Ctrl+Shift+Z", view.redo, view.redo, redo),
    ):
        tip = f"Nothing to {name.lower()}"
        if target is not None and edit is not None:
            tip = f"{name} ({key}): {plain(edit.note)}"
        action(
            name,
            name.lower(),
            go,
            bench,
            tab,
            view.session.id,
            part,
            key=name.lower(),
            help=tip,
            disabled=view.locked or target is None,
            type="tertiary",
        )


def evaluate(bench: Workbench, view: SessionView) -> None:
    """Draw the button and what it opens; for a workflow that is as it was planned it cannot be pressed."""
    head = view.head
    origin = None if head is None else came_from(bench, head)
    edited = head is not None and origin is not None and origin.workflow.unpinned != head.workflow.unpinned
    box = st.popover(
        "Evaluate",
        icon=":material/leaderboard:",
        key="evaluate",
        on_change="rerun",
        width="content",
        disabled=not edited,
        help=None if edited else "Compare the edited workflow with the plan it came from",
    )
    if head is None or origin is None or not edited or not box.open:
        return
    with box, st.container(key="evaluate-form", gap="small"):
        st.markdown("**Evaluate against the plan it came from**")
        whose = "as planned" if origin.origin == "conductor" else "as it came in"
        pinned = " Pinned steps are called for each question." if head.workflow.pins else ""
        st.caption(plain(f"Revision {head.number} against revision {origin.number}, {whose}.{pinned}"))
        plans = (plan_of_revision(bench, head), plan_of_revision(bench, origin))
        start_on_data(bench, view.session.id, plans, trial=False, key="evaluate")
