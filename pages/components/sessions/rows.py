"""The list of sessions, each with its facts and actions, and above it what is done with those selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from conductor.errors import StorageError
from conductor.text.calendar_time import local_time
from conductor.text.formatting import quantity
from pages.components.keyboard.focus import focus_fallback
from pages.components.sessions.actions import DIALOG, SessionActions
from pages.components.sessions.list_state import SessionList
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import address_of
from pages.components.view_models.run_text import STATE_ICONS, state_label
from pages.components.widgets.controls import action, compare_page_link, row
from pages.components.widgets.labels import distinct_labels
from storage import SessionOrigin, SessionStore, SessionSummary, Snippet
from storage.search.listing import Window

focus_fallback("act-*", "undelete")
focus_fallback("restore-*", "session-rows")
focus_fallback("restore-selected", "session-rows")
focus_fallback("select-none", "selection")
focus_fallback("delete-selected", "undelete")

_WORKERS = 3
"""Workers that a row names; of the others it gives the number."""

_ORIGINS: Mapping[SessionOrigin, str] = {
    "terminal": "from the terminal",
    "import": "imported",
    "api": "from the API",
    "fork": "fork",
    "evaluation": "of an evaluation",
}

_KINDS = {
    "query": "Query",
    "tag": "Tag",
    "instruction": "Instruction",
    "answer": "Answer",
    "note": "Note",
    "title": "Title",
}

_ACTIONS = {
    "rename": ":material/edit: Rename",
    "tags": ":material/sell: Tags",
    "fork": ":material/fork_right: Fork",
    "origin": ":material/arrow_outward: Open what it was forked from",
    "compare": ":material/compare_arrows: Compare with the run before",
    "export": ":material/download: Export",
    "report": ":material/slideshow: Newest run in one file",
    "delete": ":material/delete: Delete",
}


def session_row(
    tab: TabState,
    listed: SessionList,
    session: SessionSummary,
    *,
    snippet: Snippet | None,
    actions: SessionActions,
) -> None:
    with row(f"row-{session.id}"):
        _checkbox(
            listed, f"Select {plain(session.title, limit=110)}", [session.id], name=f"select-{session.id}"
        )
        with st.container(width="stretch", gap=None):
            if st.button(
                plain(session.title, limit=110),
                key=f"open-{session.id}",
                icon=STATE_ICONS[session.state],
                type="tertiary",
                help="Open on the workbench",
                on_click=tab.open,
                args=(session.id,),
            ):
                st.switch_page("pages/workbench.py", query_params={"session": session.id})
            tags = "".join(f" :gray-badge[{plain(tag)}]" for tag in session.tags)
            st.caption(f"{plain(' · '.join(_facts(session)), limit=600)}{tags}")
            if snippet is not None:
                st.caption(snippet_line(snippet))
        if session.deleted_at is None:
            _menu(session, actions)
        else:
            _button("Restore", "restore_from_trash", f"restore-{session.id}", actions.restore, (session.id,))


def _button(label: str, icon: str | None, key: str, do: Callable[..., object], *args: object) -> None:
    action(label, icon, do, *args, key=key, redraw=False)


def _checkbox(listed: SessionList, label: str, ids: Sequence[str], *, name: str) -> None:
    """Whether these sessions are selected."""
    key = show_stored(name, bool(ids) and set(ids) <= set(listed.selected))

    def changed(selected: bool) -> None:
        listed.select_also(ids, selected=selected)

    st.checkbox(label, key=key, label_visibility="collapsed", on_change=on_choice(key, changed))


def _facts(session: SessionSummary) -> list[str]:
    facts: list[str] = [state_label(session.state)]
    if session.topology is not None and session.steps is not None:
        facts.append(f"{session.topology}, {quantity(session.steps, 'step')}")
    if session.workers:
        more = len(session.workers) - _WORKERS
        named = ", ".join(" ".join(worker[:41].split()) for worker in session.workers[:_WORKERS])
        facts.append(f"{named} and {more} more" if more > 0 else named)
    facts += session.used.known_words
    facts.append(f"{local_time(session.updated_at):%d %b %Y, %H:%M}")
    if session.pool_label:
        facts.append(session.pool_label)
    if session.origin is not None and session.origin in _ORIGINS:
        facts.append(_ORIGINS[session.origin])
    return facts


def snippet_line(snippet: Snippet) -> str:
    """A snippet as Markdown that shows it letter for letter, on one line, with what matched on a ground."""
    parts = [f"{_KINDS[snippet.kind]}: "]
    for text, matched in snippet.parts:
        words = plain(text)
        before = " " if text[:1].isspace() and not parts[-1].endswith(" ") else ""
        after = " " if words and text[-1:].isspace() else ""
        parts.append(f"{before}:primary-background[{words}]{after}" if matched else f"{before}{words}{after}")
    return "".join(parts)


# -- actions -----------------------------------------------------------------------------------------


def _menu(session: SessionSummary, actions: SessionActions) -> None:
    acts: dict[str, Callable[[], None]] = {
        "rename": lambda: DIALOG.open(("rename", session.id)),
        "tags": lambda: DIALOG.open(("tags", session.id)),
        "fork": lambda: actions.fork(session.id),
        "origin": lambda: actions.open_source(session.forked_from or ""),
        "compare": lambda: actions.compare(session.id),
        "export": lambda: actions.export((session.id,)),
        "report": lambda: actions.report(session.id),
        "delete": lambda: actions.delete((session.id,), name=session.title),
    }
    missing = {
        "fork": session.topology is None,
        "compare": session.topology is None,
        "origin": session.forked_from is None,
        "report": not session.runs,
    }
    key = f"act-{session.id}"

    def act() -> None:
        chosen = acts.get(st.session_state[key])
        if chosen is not None:
            chosen()

    st.menu_button(
        f"Actions for {plain(session.title, limit=110)}",
        [name for name in _ACTIONS if not missing.get(name)],
        key=key,
        icon=":material/more_horiz:",
        type="tertiary",
        help="Actions for this session",
        format_func=distinct_labels(_ACTIONS),
        on_click=act,
    )


# -- what is selected ------------------------------------------------------------------------------


def selection_bar(
    listed: SessionList, actions: SessionActions, *, sessions: Sequence[SessionSummary], window: Window
) -> None:
    """Draw the line above the list, for `sessions`, those on the page of the window."""
    count = len(window.ids)
    with row("selection"):
        _checkbox(listed, "Select this page", [session.id for session in sessions], name="select-page")
        selected = listed.selected
        if not selected:
            st.caption(_how_many(listed, window))
            return
        st.caption(f"{len(selected):,} selected of {count:,}", width="content")

        def select_all() -> None:
            listed.select(window.ids)

        if len(selected) < count:
            action(f"Select all {count:,}", None, select_all, key="select-all", type="tertiary", redraw=False)
        action("Clear selection", None, listed.select, (), key="select-none", type="tertiary", redraw=False)
        st.space("stretch")
        if listed.filter.deleted:
            _button("Restore", "restore_from_trash", "restore-selected", actions.restore, selected)
            return
        if len(selected) == 2:
            left, right = (_side(actions.bench.store, session) for session in selected)
            if left is not None and right is not None:
                compare_page_link(left, right, help="Their newest runs, side by side")
        _button("Tag", "sell", "tag-selected", DIALOG.open, ("tag", ""))
        _button("Export", "download", "export-selected", actions.export, selected)
        _button("Delete", "delete", "delete-selected", actions.delete, selected)


def _how_many(listed: SessionList, window: Window) -> str:
    count = len(window.ids)
    if not count:
        return "None of the next sessions matches; look at older ones."
    order = "newest text first" if listed.filter.search else "newest first"
    noun = "session" if listed.after is None else "older session"
    least = "" if window.further is None else "more than "
    return f"{least}{quantity(count, noun)}, {order}".capitalize()


def _side(store: SessionStore, session: str) -> str | None:
    """What a session is compared by: its newest run, else its workflow; None before it has one."""
    try:
        side = store.runs.latest(session) or store.revisions.head(session)
    except StorageError:
        return None
    return None if side is None else address_of(side)
