"""Ctrl+K on every page: going to a session, step, panel, worker, page or section of the documentation by
name, doing what has one, and going to where words stand in the texts and notes of the open session.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import cast

import streamlit as st

from conductor.values.note import NotePart
from conductor.workflow.model import Workflow
from pages.components.keyboard.palette import PaletteRow, find_box
from pages.components.sessions.import_export import open_import
from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.tab.notices import showing_errors
from pages.components.tab.services import workbench
from pages.components.tab.state import Export, FoundWords, TabState
from pages.components.view_models.destinations import (
    HEADINGS,
    Destination,
    of_app,
    of_documentation,
    of_sessions,
    of_workflow,
)
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import compare_query
from pages.components.workbench.bar.share import open_code
from pages.components.workbench.drawer.panels import PANELS
from pages.components.workbench.step.inspector import PARTS, states_of
from storage import RunRecord, SessionFilter
from studio.documentation import Section, find_sections, sections
from studio.sessions.words import LONGEST, SessionText, WordPlace, find_words, texts_of
from studio.workbench import Workbench

_KEY = "palette"
_QUERY, _OPENS = "palette-query", "palette-opens"

_TABS: Mapping[NotePart, str] = dict(
    zip(("output", "instruction", "request", "reasoning"), PARTS, strict=True)
)
"""Where the page shows each text of a step."""

_EARLIER = 50
"""Earlier runs that are searched, the newest ones; their states are cached."""

_SESSIONS = 8
"""Sessions that are offered: the newest ones, or those that have the words."""

_SECTIONS = 6
"""Sections of the documentation that are offered: those that have the words."""


def find_anywhere(tab: TabState) -> None:
    """Listen for Ctrl+K on a page that shows no session."""

    def part() -> None:
        tab.redraw_on_request()
        with showing_errors("find"):
            find(workbench(), tab, None)

    st.fragment(part, key="find")()


def find(bench: Workbench, tab: TabState, view: SessionView | None) -> None:
    """Listen for Ctrl+K; draw what matches what is typed. `view` is the open session."""
    if (opens := st.session_state.pop(_OPENS, None)) is not None:
        page, query_params = opens
        st.switch_page(page, query_params=query_params)
    section_dialog()
    query = st.session_state.get(_QUERY, "")
    runs = () if view is None else bench.store.runs.of_session(view.session.id)
    words = [] if view is None else find_words(_texts(bench, view, runs), query)
    numbers = {run.id: len(runs) - at for at, run in enumerate(runs)}
    sessions = bench.store.sessions.listed(SessionFilter(search=query), limit=_SESSIONS)
    places = [
        *([] if view is None or view.head is None else _of_session(view, view.head.workflow)),
        *of_app(bench.pool.names),
    ]
    others = [
        *of_sessions(sessions, but=None if view is None else view.session.id),
        *of_documentation(find_sections(query, limit=_SECTIONS)),
    ]
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


def _of_session(view: SessionView, workflow: Workflow) -> list[Destination]:
    panels = {name: panel.holds for name, panel in PANELS.items()}
    return of_workflow(workflow, panels, ran=view.run is not None)


def _open(tab: TabState, place: Destination, *, here: bool) -> None:
    """Show the place, or do what it names. `here`: the workbench is open, with a session."""
    match place.kind, place.value:
        case "step", value:
            tab.select(int(value))
        case "panel", value:
            st.session_state["panel"] = value
        case "worker", _:
            _go_to("pool")
        case "page", value:
            _go_to(value)
        case "session", value if here:
            tab.open(value)
        case "session", value:
            _go_to("workbench", {"session": value})
        case "documentation", value:
            open_section(value)
        case "command", "new":
            tab.open(None)
            _go_to("workbench")
        case "command", "import":
            open_import()
            _go_to("sessions")
        case "command", "code":
            open_code()
        case "command", value:
            tab.ask_export(cast("Export", value.removeprefix("export-")))
    # A dialog that a fragment opens takes the page its styles.
    if here or place.kind == "documentation":
        tab.ask_redraw()


def _go_to(page: str, query_params: Mapping[str, str] | None = None) -> None:
    """Have a page shown on the next run, which a callback cannot do."""
    st.session_state[_OPENS] = (f"pages/{page}.py", query_params)


def _texts(bench: Workbench, view: SessionView, runs: tuple[RunRecord, ...]) -> Iterator[SessionText]:
    """People's notes, the texts of the workflow shown, then those of earlier runs, the newest first."""
    if view.head is not None:
        workflow = view.head.workflow
        for step, notes in bench.notes.by_step(view.session.id, workflow).items():
            for note in notes:
                yield SessionText(note.text, note.part, step, note=note)
        yield from texts_of(workflow.steps, list(states_of(bench, view, range(len(workflow)))))
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
            _go_to("compare", query)
        return
    tab.select(text.step)
    if text.step is not None:
        tab.part = _TABS.get(text.part)
        words = place.words if text.note is None else text.note.quote
        tab.search_match = FoundWords(text.step, text.part, words, place.near, time.time()) if words else None
    tab.ask_redraw()


_OPEN = "documentation-open"


def open_section(id: str) -> None:
    """Have the dialog open on the next run of the page, at the section with this id."""
    st.session_state[_OPEN] = id


def section_dialog() -> None:
    id = st.session_state.get(_OPEN)
    section = None if id is None else next((each for each in sections() if each.id == id), None)
    if section is not None:
        dialog = st.dialog(section.page, width="large", on_dismiss=lambda: st.session_state.pop(_OPEN, None))
        dialog(_section)(section)


def _section(section: Section) -> None:
    dialog_theme()
    st.markdown(section.text)
