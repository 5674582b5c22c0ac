"""Ctrl+K on every page: going to a session, step, panel, worker, page or section of the documentation by
name, doing what has one, and going to where words stand in the texts and notes of the open session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import streamlit as st

from conductor.values.note import NotePart
from pages.components.keyboard.palette import PaletteRow, find_box
from pages.components.sessions.import_export import open_import
from pages.components.tab.notices import showing_errors
from pages.components.tab.services import workbench
from pages.components.tab.state import Export, FoundWords, TabState
from pages.components.view_models.run_text import state_label
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import compare_query
from pages.components.widgets.dialog import Dialog
from pages.components.workbench.bar.share import open_code
from pages.components.workbench.drawer.panels import PANELS
from pages.components.workbench.step.inspector import PARTS, states_of
from storage import RunRecord, SessionFilter
from studio.documentation import Section, find_sections
from studio.sessions.words import LONGEST, SessionText, WordPlace, find_words, texts_of
from studio.workbench import Workbench

_KEY = "palette"
_QUERY, _OPENS = "palette-query", "palette-opens"
_SECTION = Dialog[Section]("documentation-open")

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

_MOST_TITLE = 90

_PAGES: Mapping[str, str] = {
    "workbench": "ask, plan, run",
    "compare": "runs, plans, races",
    "sessions": "search, tags, import, export",
    "usage": "tokens and dollars",
    "evaluation": "planners on sets of questions",
    "learning": "train a Conductor",
    "pool": "workers, endpoints, keys, API tokens",
}

_FILES: Mapping[Export, tuple[str, str]] = {
    "run": ("Export the run in one file", "to replay without the app"),
    "workflow": ("Export the workflow", "JSON"),
    "session": ("Export the session", "JSON Lines"),
}


class Goal(NamedTuple):
    """Where a person can go by name, or what can be done: a row, and what its choice does."""

    row: PaletteRow
    go: Callable[[], object]


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
    _SECTION.show(lambda section: section.page, lambda section: st.markdown(section.text), width="large")
    query = st.session_state.get(_QUERY, "")
    runs = () if view is None else bench.store.runs.of_session(view.session.id)
    words = [] if view is None else find_words(_texts(bench, view, runs), query)
    numbers = {run.id: len(runs) - at for at, run in enumerate(runs)}
    here = view is not None
    places = [*([] if view is None else _of_workflow(tab, view)), *_of_app(tab, bench.pool.names)]
    others = [*_of_sessions(bench, tab, query, here=here), *_of_documentation(tab, query)]
    texts = {f"text:{at}": place for at, place in enumerate(words)}
    goals = {goal.row["id"]: goal for goal in [*places, *others]}

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
            goals[id].go()
            if here:
                tab.ask_redraw()
        elif choice.get("query") == query and view is not None and id in texts:
            _go(tab, view, texts[id])

    find_box(
        [
            *(goal.row for goal in others),
            *(_text_row(view, id, place, numbers) for id, place in texts.items() if view is not None),
        ],
        places=[goal.row for goal in places],
        query=query,
        key=_KEY,
        on_typed=typed,
        on_chosen=chosen,
    )


def _goal(id: str, kind: str, name: str, detail: str, go: Callable[[], object]) -> Goal:
    return Goal({"id": id, "kind": kind, "name": name, "detail": detail}, go)


def _of_workflow(tab: TabState, view: SessionView) -> Iterator[Goal]:
    """The steps, with their workers, the panels of the drawer with what they hold, and what is given out: the
    run, too, where there is one.
    """
    if view.head is None:
        return
    workflow = view.head.workflow
    for at, step in enumerate(workflow.steps):
        yield _goal(f"step:{at}", "Step", step_name(workflow, at), step.worker, partial(tab.select, at))
    for name, panel in PANELS.items():
        go = partial(st.session_state.__setitem__, "panel", name)
        yield _goal(f"panel:{name}", "Panel", name, panel.holds, go)
    for what, words in _FILES.items():
        if what != "run" or view.run is not None:
            yield _goal(f"command:export-{what}", "", *words, partial(tab.ask_export, what))
    yield _goal("command:code", "", "Use it from code", "Python, JavaScript, curl, the API", open_code)


def _of_app(tab: TabState, workers: tuple[str, ...]) -> Iterator[Goal]:
    """Pages, what can be done on each of them, and the workers; each of these opens the page of the pool."""

    def new() -> None:
        tab.open(None)
        _go_to("workbench")

    def choose_file() -> None:
        open_import()
        _go_to("sessions")

    for page, about in _PAGES.items():
        yield _goal(f"page:{page}", "Page", f"Open {page.capitalize()}", about, partial(_go_to, page))
    yield _goal("command:new", "", "New session", "ask a question", new)
    yield _goal("command:import", "", "Import a file", "a session, a run, a workflow", choose_file)
    for name in workers:
        yield _goal(f"worker:{name}", "Worker", name, "on the Pool page", partial(_go_to, "pool"))


def _of_sessions(bench: Workbench, tab: TabState, query: str, *, here: bool) -> Iterator[Goal]:
    """The sessions that have the words, without the open one; `here`: there is an open one."""
    for one in bench.store.sessions.listed(SessionFilter(search=query), limit=_SESSIONS):
        if not here or one.id != tab.session:
            go = partial(tab.open, one.id) if here else partial(_go_to, "workbench", {"session": one.id})
            yield _goal(f"session:{one.id}", "Session", one.title[:_MOST_TITLE], state_label(one.state), go)


def _of_documentation(tab: TabState, query: str) -> Iterator[Goal]:
    """The sections that have the words, each with the page that it is of."""

    def go(section: Section) -> None:
        _SECTION.open(section)
        # A dialog that a fragment opens takes the page its styles.
        tab.ask_redraw()

    for one in find_sections(query, limit=_SECTIONS):
        yield _goal(f"documentation:{one.id}", "Documentation", one.title, one.page, partial(go, one))


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
