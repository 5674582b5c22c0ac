"""The composer: where a question is written, or a change of the plan, and how it is asked.

A question becomes a new session. Where the open session has an answer, it continues that conversation, unless
the session's own question is being changed. A change is asked of the Conductor and comes back as a proposal.
Knows the workbench and the tab; errors stand above the box.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TypeGuard

import streamlit as st

from conductor.errors import ConductorError, QueryError
from conductor.files.file_text import MAX_FILE
from conductor.values.presets import Settings
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.page_part import shows
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.workbench.question.draft import (
    BOX,
    MEANING,
    forget_question,
    kept_question,
    restore_question,
)
from pages.components.workbench.question.settings import MENU, settings_menu, settings_of
from storage import Session
from studio.workbench import Workbench
from studio.workbench.attaching import IMAGE_ENDINGS, Upload, attached

# Drawn again where the page goes from one session to another, or to none.
focus_fallback(BOX)

_QUICK_SECONDS = 0.2
"""A plan that is there this soon is shown at once, not after a glimpse of the planning."""

_TEXTS = (
    "pdf", "txt", "md", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "html", "tex", "log",
    "py", "js", "ts", "java", "c", "h", "cpp", "go", "rs", "sql", "sh", "diff", "srt",
)  # fmt: skip
"""How the names of files end that are offered to be attached; each is read by its content."""

_WAY = "runs-plans-choice"

ASK, CHANGE = "Ask", "Change this plan"
"""What is typed can be meant as, in the order of the choice."""

_WAYS = {"Plan": False, "Plan and run": True}
"""Whether what is asked is run, by the names of the choice."""


def composer(bench: Workbench, tab: TabState, view: SessionView | None) -> None:
    """Draw it for the open session, or for None."""
    place, text = _draft(tab, view)
    tab.show_notice("query")

    def submit() -> None:
        sent = st.session_state[BOX]
        query = "" if sent is None else sent.text
        uploads = [] if sent is None else [(file.name, file.getvalue()) for file in sent.files]
        # The choice as the browser shows it: one message may bring both, in any order.
        run = _WAYS.get(st.session_state.get(_WAY, ""), bool(tab.runs_plans))
        if (
            _changeable(view, tab)
            and st.session_state.get(MEANING, CHANGE if tab.changes_plan else ASK) == CHANGE
        ):
            is_sent = _ask_for_change(bench, tab, view, query, uploads)
        else:
            is_sent = ask(bench, tab, query, view=view, run=run, uploads=uploads)
        if is_sent:
            forget_question(place)
        else:
            restore_question()
        tab.ask_redraw()

    with st.container(key="question-box", gap=None):
        st.chat_input(
            _placeholder(tab, view),
            key=BOX,
            accept_file="multiple",
            file_type=[*_TEXTS, *IMAGE_ENDINGS],
            max_upload_size=MAX_FILE // 1_000_000,
            on_submit=submit,
        )
        with row("composer-row", gap="xsmall"):
            if _changeable(view, tab):
                _meaning(tab)
            settings_menu(bench, tab, view, head=partial(_how, tab, view))
            if view is not None and view.head is not None and tab.rewrites:
                _rewrite(tab, view)
    with st.container(key="kept-question"):
        kept_question(tab, place, text, workers=bench.pool.names)


def _draft(tab: TabState, view: SessionView | None) -> tuple[str, str]:
    """A name for what is typed here, and what the box shows at first."""
    if view is None:
        return "new", ""
    if tab.rewrites:
        return f"{view.session.id}-again", view.session.query
    # Where nothing came of a question it stands there to be changed.
    failed = view.head is None and not view.busy
    return view.session.id, view.session.query if failed else ""


def _continues(tab: TabState, view: SessionView) -> bool:
    """Whether a question asked here follows the answer of the session."""
    return _answered(view) and not tab.rewrites


def _answered(view: SessionView) -> bool:
    state = view.state
    return state is not None and state.status == "finished" and state.answered and bool(state.answer)


def _placeholder(tab: TabState, view: SessionView | None) -> str:
    if tab.changes_plan and _changeable(view, tab):
        return "Change this plan: use two readers, no verifier"
    if view is None:
        return "Ask something that takes more than one step"
    if _continues(tab, view):
        return "Ask a follow-up question"
    return "Change the question, or ask another one"


def _changeable(view: SessionView | None, tab: TabState) -> TypeGuard[SessionView]:
    """Whether there is a plan that what is typed may change."""
    return view is not None and view.head is not None and not tab.rewrites


def _meaning(tab: TabState) -> None:
    def chosen(name: str | None) -> None:
        if name is not None:
            tab.changes_plan = name == CHANGE

    st.segmented_control(
        "Meaning of the text",
        [ASK, CHANGE],
        key=MEANING,
        required=True,
        label_visibility="collapsed",
        on_change=shows(tab, MEANING, CHANGE if tab.changes_plan else ASK, chosen),
    )


def _ask_for_change(
    bench: Workbench, tab: TabState, view: SessionView, wish: str, uploads: Sequence[Upload]
) -> bool:
    """Ask the Conductor to change the plan; whether it was asked: errors stand above the box."""
    try:
        if uploads:
            raise QueryError("A change of the plan takes no files; remove them, or choose Ask.")
        bench.changing.begin(view.session.id, wish)
    except ConductorError as error:
        tab.notify("error", str(error), place="query")
        return False
    tab.changes_plan = False
    return True


def _how(tab: TabState, view: SessionView | None) -> None:
    """What Enter does, and the way to another question, at the head of the menu."""
    _way(tab)
    if view is not None and view.head is not None and not tab.rewrites:
        _rewrite(tab, view)


def _way(tab: TabState) -> None:
    way = next(name for name, runs in _WAYS.items() if runs == bool(tab.runs_plans))

    def chosen(name: str | None) -> None:
        # A page that was broken off leaves the field empty; that is no choice.
        if name is not None:
            tab.runs_plans = _WAYS[name]

    st.segmented_control(
        "What Enter does",
        list(_WAYS),
        key=_WAY,
        required=True,
        width="stretch",
        on_change=shows(tab, _WAY, way, chosen),
    )


def _rewrite(tab: TabState, view: SessionView) -> None:
    def turned() -> None:
        tab.rewrites = not tab.rewrites
        st.session_state[MENU] = False

    back = "Follow up instead" if _answered(view) else "Cancel the edit"
    action(
        back if tab.rewrites else "Edit the question",
        "reply" if tab.rewrites else "edit",
        turned,
        key="follow-up" if tab.rewrites else "rewrite",
        type="tertiary",
        help=None if tab.rewrites else "Edit the question and ask it in a new session",
    )


def ask(
    bench: Workbench,
    tab: TabState,
    query: str,
    *,
    view: SessionView | None = None,
    run: bool = False,
    uploads: Sequence[Upload] = (),
) -> bool:
    """Begin to plan the question with its files in a new session and open it; `run` it too.

    Whether it was asked: errors stand above the box.
    """
    if tab.pressed_again(f"ask-{hash((query, *uploads))}"):
        return True
    try:
        session = _begin(bench, tab, query, view, uploads)
        tab.open(session.id)
        bench.planning.begin(session.id, then_run=run)
    except ConductorError as error:
        tab.notify("error", str(error), place="query")
        return False
    until = time.monotonic() + _QUICK_SECONDS
    while bench.activities.busy(session.id) and time.monotonic() < until:
        time.sleep(0.01)
    return True


def _begin(
    bench: Workbench, tab: TabState, query: str, view: SessionView | None, uploads: Sequence[Upload]
) -> Session:
    settings = chosen_settings(bench, tab)
    if view is not None and view.run is not None and _continues(tab, view):
        return bench.follow_up(view.session.id, query, run=view.run.id, settings=settings, uploads=uploads)
    before = None if view is None else view.session.conversation
    conversation = attached(before, uploads, cards=bench.pool.cards.values())
    return bench.ask(query, settings=settings, conversation=conversation)


def chosen_settings(bench: Workbench, tab: TabState) -> Settings | None:
    """The settings for a new session, or None if nothing is chosen."""
    settings = settings_of(bench, tab)
    return None if settings == Settings() else settings
