"""Ctrl+K on every page: going to a session, step, panel or worker by name, and to where words stand in the
texts and notes of the open session.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import streamlit as st

from conductor.values.note import NotePart
from pages.components.keyboard.palette import PaletteRow, find_box
from pages.components.tab.notices import errors_shown
from pages.components.tab.services import workbench
from pages.components.tab.state import FoundWords, TabState
from pages.components.view_models.destinations import (
    HEADINGS,
    Destination,
    of_pool,
    of_sessions,
    of_workflow,
)
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import COMPARE_PAGE, compare_query
from pages.components.workbench.drawer.panels import offered_panels
from pages.components.workbench.step.inspector import PARTS, state_of
from storage import RunRecord, SessionFilter
from studio.sessions.words import LONGEST, SessionText, WordPlace, find_words, texts_of
from studio.workbench import Workbench

_KEY = "palette"
_QUERY, _OPENS = "palette-query", "palette-opens"
_WORKBENCH_PAGE, _POOL_PAGE = "pages/workbench.py", "pages/pool.py"

_TABS: Mapping[NotePart, str] = dict(
    zip(("output", "instruction", "request", "reasoning"), PARTS, strict=True)
)
"""Where the page shows each text of a step."""

_EARLIER = 50
"""Earlier runs that are searched, the newest ones; their states are cached."""

_SESSIONS = 8
"""Sessions that are offered: the newest ones, or those that have the words."""


def find_anywhere(tab: TabState) -> None:
    """Listen for Ctrl+K on a page that shows no session."""

    def part() -> None:
        with errors_shown("find"):
            find(workbench(), tab, None)

    st.fragment(part, key="find")()


def find(bench: Workbench, tab: TabState, view: SessionView | None) -> None:
    """Listen for Ctrl+K; draw what matches what is typed. `view` is the open session."""
    if (opens := st.session_state.pop(_OPENS, None)) is not None:
        page, query_params = opens
        st.switch_page(page, query_params=query_params)
    query = st.session_state.get(_QUERY, "")
    runs = () if view is None else bench.store.runs.of_session(view.session.id)
    words = [] if view is None else find_words(_texts(bench, view, runs), query)
    numbers = {run.id: len(runs) - at for at, run in enumerate(runs)}
    sessions = bench.store.sessions.listed(SessionFilter(search=query), limit=_SESSIONS)
    places = [
        *([] if view is None or view.head is None else of_workflow(view.head.workflow, offered_panels(view))),
        *of_pool(bench.pool.names),
    ]
    others = of_sessions(sessions, but=None if view is None else view.session.id)
    texts = {f"text:{at}": place for at, place in enumerate(words)}
    goals = {place.id: place for place in [*places, *others]}

    def typed() -> None:
        # A message may be of the page before, which has been left.
        text = getattr(st.session_state.get(_KEY), "typed", None)
        st.session_state[_QUERY] = text.strip()[:LONGEST] if isinstance(text, str) else ""

    def chosen() -> None:
        choice = getattr(st.session_state.get(_KEY), "chosen", None)
        st.session_state[_QUERY] = ""
        if not isinstance(choice, dict):
            return
        id = str(choice.get("id"))
        if id in goals:
            _open(tab, goals[id], here=view is not None)
        elif choice.get("query") == query and view is not None and id in texts:
            _go(tab, view, texts[id])

    find_box(
        [
            *(_row(place) for place in others),
            *(_text_row(view, id, place, numbers) for id, place in texts.items() if view is not None),
        ],
        places=[_row(place) for place in places],
        query=query,
        key=_KEY,
        on_typed=typed,
        on_chosen=chosen,
    )


def _row(place: Destination) -> PaletteRow:
    return {"id": place.id, "kind": HEADINGS[place.kind], "name": place.name, "detail": place.detail}


def _open(tab: TabState, place: Destination, *, here: bool) -> None:
    """Show the place. `here`: the workbench is open, with a session."""
    match place.kind:
        case "step":
            tab.select(int(place.value))
        case "panel":
            st.session_state["panel"] = place.value
        case "worker":
            st.session_state[_OPENS] = (_POOL_PAGE, None)
        case "session":
            if here:
                tab.open(place.value)
            else:
                st.session_state[_OPENS] = (_WORKBENCH_PAGE, {"session": place.value})
    if here:
        tab.ask_redraw()


def _texts(bench: Workbench, view: SessionView, runs: tuple[RunRecord, ...]) -> Iterator[SessionText]:
    """People's notes, the texts of the workflow shown, then those of earlier runs, the newest first."""
    if view.head is not None:
        workflow = view.head.workflow
        for step, notes in bench.notes.by_step(view.session.id, workflow).items():
            for note in notes:
                yield SessionText(note.text, note.part, step, note=note)
        yield from texts_of(workflow.steps, [state_of(bench, view, at) for at in range(len(workflow))])
    for run in runs[:_EARLIER]:
        if view.run is None or run.id != view.run.id:
            state = bench.state(run)
            if state.workflow is not None and len(state.steps) == len(state.workflow):
                yield from texts_of(state.workflow.steps, state.steps, run=run.id)


def _text_row(view: SessionView, id: str, place: WordPlace, numbers: Mapping[str, int]) -> PaletteRow:
    text = place.text
    if text.run is not None or view.head is None:
        where = f"Run {numbers.get(text.run or '', 0)}, step {1 + (text.step or 0)}"
        detail = f"{_TABS[text.part]}, compare"
    elif text.step is None:
        where = "Question" if text.part == "question" else "A step that was removed"
        detail = "note"
    else:
        where = step_name(view.head.workflow, text.step)
        detail = f"{_TABS.get(text.part, '')}{', note' if text.note is not None else ''}"
    words = (place.before, place.words, place.after)
    return {"id": id, "kind": "Words", "name": where, "detail": detail, "text": words}


def _go(tab: TabState, view: SessionView, place: WordPlace) -> None:
    """Show the text, with the words marked; of a note those that it is about."""
    text = place.text
    if text.run is not None:
        if view.run is not None:
            query = compare_query(f"run:{text.run}", f"run:{view.run.id}")
            st.session_state[_OPENS] = (COMPARE_PAGE, query)
        return
    tab.select(text.step)
    if text.step is not None:
        tab.part = _TABS.get(text.part)
        words = place.words if text.note is None else text.note.quote
        tab.search_match = FoundWords(text.step, text.part, words, place.near, time.time()) if words else None
    tab.ask_redraw()
