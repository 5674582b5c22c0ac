"""Finding words in the texts and notes of the open session, and going to where they are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import streamlit as st

from conductor.values.note import NotePart
from pages.components.keyboard.palette import PaletteRow, find_box
from pages.components.tab.state import FoundWords, TabState
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import COMPARE_PAGE, compare_query
from pages.components.workbench.step.inspector import PARTS, state_of
from storage import RunRecord
from studio.sessions.words import LONGEST, Place, SessionText, find_words, texts_of
from studio.workbench import Workbench

_KEY = "palette"
_QUERY, _OPENS = "palette-query", "palette-opens"

_TABS: Mapping[NotePart, str] = dict(
    zip(("output", "instruction", "request", "reasoning"), PARTS, strict=True)
)
"""Where the page shows each text of a step."""

_EARLIER = 50
"""Earlier runs that are searched, the newest ones; their states are cached."""


def find_in_session(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Listen for Ctrl+K; draw what was found for what is typed."""
    if (earlier := st.session_state.pop(_OPENS, None)) is not None and view.run is not None:
        st.switch_page(COMPARE_PAGE, query_params=compare_query(f"run:{earlier}", f"run:{view.run.id}"))
    query = st.session_state.get(_QUERY, "")
    runs = bench.store.runs.of_session(view.session.id)
    places = find_words(_texts(bench, view, runs), query)
    numbers = {run.id: len(runs) - at for at, run in enumerate(runs)}

    def typed() -> None:
        given = st.session_state[_KEY].typed
        st.session_state[_QUERY] = given.strip()[:LONGEST] if isinstance(given, str) else ""

    def chosen() -> None:
        wanted = st.session_state[_KEY].chosen
        at = wanted.get("at") if isinstance(wanted, dict) and wanted.get("query") == query else None
        st.session_state[_QUERY] = ""
        if isinstance(at, int) and 0 <= at < len(places):
            _go(tab, places[at])

    find_box(
        [_row(view, place, numbers) for place in places],
        query=query,
        key=_KEY,
        on_typed=typed,
        on_chosen=chosen,
    )


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


def _row(view: SessionView, place: Place, numbers: Mapping[str, int]) -> PaletteRow:
    text = place.text
    if text.run is not None or view.head is None:
        step = 1 + (text.step or 0)
        where = f"Run {numbers.get(text.run or '', 0)}, step {step} · {_TABS[text.part]} · compare"
    elif text.step is None:
        where = (
            "Note on the question" if text.part == "question" else "Note on a step that is no longer there"
        )
    else:
        name = step_name(view.head.workflow, text.step)
        where = f"{name} · {_TABS.get(text.part, '')}{', note' if text.note is not None else ''}"
    return {"where": where, "before": place.before, "words": place.words, "after": place.after}


def _go(tab: TabState, place: Place) -> None:
    """Show the text, with the words marked; of a note those that it is about."""
    text = place.text
    if text.run is not None:
        st.session_state[_OPENS] = text.run
        return
    tab.select(text.step)
    if text.step is not None:
        tab.part = _TABS.get(text.part)
        words = place.words if text.note is None else text.note.quote
        tab.found = FoundWords(text.step, text.part, words, place.near, time.time()) if words else None
    tab.ask_redraw()
