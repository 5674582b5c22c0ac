"""The session's revisions: a tree, and what can be done with the one that is selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from pages.components.history import history_tree
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.view_models.revision_text import RevisionRow, revision_rows
from pages.components.view_models.session import SessionView
from pages.components.widgets import controls
from pages.components.widgets.controls import action, compare_page_link
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.editor import Editor
from storage import RevisionSummary
from studio.workbench import Workbench

focus_fallback("history-restore", "history-fork")
focus_fallback("history-more", "history-fork")

FIRST = 60
"""Revisions that are shown before a person requests more."""


MORE = 300


def history_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session = view.session
    entries = bench.store.revisions.history(session.id)
    rows = revision_rows(
        entries,
        bench.store.runs.of_session(session.id),
        head=session.head,
        redo=bench.store.revisions.redo_targets(session.id),
        tested=bench.tests.of_session(session.id),
    )
    key, room_key = f"history-{session.id}", f"history-shown-{session.id}"
    room = st.session_state.get(room_key, FIRST)
    selected = _selected(rows, key)
    if selected is None:
        return
    with st.container(key="history", gap="small"):
        _actions(bench, tab, view, selected, rows[:room])
        history_tree(list(_as_data(rows[:room])), key=key, selected=selected.entry.id)
        if len(rows) > room:

            def more() -> None:
                st.session_state[room_key] = room + MORE

            label = f"Show older revisions ({len(rows) - room:,} more)"
            action(label, "expand_more", more, key="history-more", redraw=False)


def _selected(rows: Sequence[RevisionRow], key: str) -> RevisionRow | None:
    """The row that was chosen, else the current revision's."""
    chosen = st.session_state[key].selected if key in st.session_state else None
    by_id = {row.entry.id: row for row in rows}
    head = next((row for row in rows if row.head), rows[0] if rows else None)
    return by_id.get(chosen["id"], head) if chosen else head


def _as_data(rows: Sequence[RevisionRow]) -> Iterator[Mapping[str, Any]]:
    """The rows as the component takes them."""
    way = False
    for row in rows:
        yield asdict(row.place) | {
            "number": row.entry.number,
            "note": row.note,
            "facts": row.facts,
            "runs": row.runs,
            "tests": row.tests,
            "tested": row.tests_in_words,
            "origin": row.entry.origin,
            "standing": row.standing,
            "way": way,
        }
        way = way or row.head


def _actions(
    bench: Workbench, tab: TabState, view: SessionView, row: RevisionRow, rows: Sequence[RevisionRow]
) -> None:
    """What can be done with the selected revision, one of `rows`."""
    why_not = _why_not_restored(bench, view, row)
    with controls.row("history-actions"):
        action(
            "Restore",
            "settings_backup_restore",
            lambda: _restore(bench, tab, view, row),
            key="history-restore",
            help=why_not or "Make it the workflow again, as a new revision",
            disabled=why_not is not None,
        )
        action(
            "Fork from here",
            "fork_right",
            lambda: _fork(bench, tab, row),
            key="history-fork",
            help="Start a new session from this revision",
            place="history",
        )
        _comparison(row, [other.entry for other in rows if other is not row], head=view.session.head)
    tab.show_notice("history")


def _why_not_restored(bench: Workbench, view: SessionView, row: RevisionRow) -> str | None:
    if row.head:
        return "This is the current revision"
    if view.locked or view.replay is not None:
        return "To restore, wait for the session to finish, or stop it"
    if view.head is not None and bench.store.revisions.find(row.entry.id).workflow == view.head.workflow:
        return "The current workflow is the same"
    return None


def _restore(bench: Workbench, tab: TabState, view: SessionView, row: RevisionRow) -> None:
    if view.head is not None:
        editor = Editor.of(bench, tab, view.head, place="panels")
        editor.restore(bench.store.revisions.find(row.entry.id))


def _fork(bench: Workbench, tab: TabState, row: RevisionRow) -> None:
    if not tab.pressed_again("fork"):
        session = bench.store.revisions.find(row.entry.id).session
        tab.open(bench.store.sessions.fork(session, row.entry.id).id)


def _comparison(row: RevisionRow, entries: Sequence[RevisionSummary], *, head: str | None) -> None:
    """A choice of one of these other revisions, first the current one, else what was edited; and the link
    that compares the two, the older one on the left.
    """
    others = {entry.id: entry for entry in entries}
    if not others:
        return
    key = f"history-compare-{row.entry.id}"
    usual = next((id for id in (head, row.entry.parent) if id in others), None)
    named = {id: f"with revision {each.number} · {each.note or each.origin}" for id, each in others.items()}
    st.selectbox(
        "Compare with",
        list(others),
        index=0 if usual is None else list(others).index(usual),
        key=key,
        required=True,
        width=280,
        label_visibility="collapsed",
        format_func=distinct_labels(named),
    )
    other = others.get(st.session_state[key], entries[0])
    left, right = sorted((row.entry, other), key=lambda entry: entry.number)
    compare_page_link(
        f"revision:{left.id}",
        f"revision:{right.id}",
        label="Compare",
        help=plain(f"Revision {left.number} beside revision {right.number}"),
    )
