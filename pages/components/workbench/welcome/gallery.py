"""Questions to ask, and workflows to start from, each opened as a new session with a question of one's own.

Knows the gallery and the tab; how a workflow is given to the pool's workers is the gallery's.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from conductor.errors import ConductorError
from conductor.text.formatting import quantity
from conductor.workflow.model import Step, Workflow
from pages.components.streamlit_patches.initial_values import show_first
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action
from pages.components.widgets.dialog import Dialog
from pages.components.widgets.thumbnails import thumbnails
from pages.components.workbench.question.composer import ask, chosen_settings
from studio.gallery import GALLERY, GalleryEntry, needs_models, workflow_for
from studio.workbench import Workbench

_DIALOG = Dialog[GalleryEntry]("gallery-open")


class Example(NamedTuple):
    """A question with an answer, and the access lists of the plan that it is expected to have."""

    query: str
    shape: tuple[tuple[int, ...], ...]


EXAMPLES = (
    Example("What is 17 * 23?", ((),)),
    Example("Compare France, Japan and Brazil", ((), (), (), (0, 1, 2))),
    Example("Plan a birthday party for ten children", ((), (0,), (0, 1))),
)

OF_THE_ORCHARD = (
    Example("What is 12 times 7 plus 30 times 4 minus 9?", ((), (0,))),
    Example("How many letters are in the capital of Peru?", ((), (0,))),
    Example("Count the letters of the capitals of Peru and Chad together.", ((), (), (0, 1))),
)


def gallery(bench: Workbench, tab: TabState) -> None:
    """Draw questions to ask and workflows to open in one row, and the dialog where one is open."""
    orchard = any(card.model.startswith("orchard/") for card in bench.pool.cards.values())
    pictures = {f"gallery-{entry.name}": entry.workflow for entry in GALLERY}
    with st.container(key="gallery", horizontal=True, gap="xsmall"):
        for at, example in enumerate(OF_THE_ORCHARD if orchard else EXAMPLES):
            key = f"example-{at}"
            pictures[key] = _workflow(example)
            # Once pressed it is planned, and run where that is chosen.
            run = bool(tab.runs_plans)
            action(plain(example.query), None, partial(ask, bench, tab, example.query, run=run), key=key)
        for entry in GALLERY:
            action(entry.title, None, _DIALOG.open, entry, key=f"gallery-{entry.name}", help=entry.sentence)
    thumbnails(pictures)
    _DIALOG.show(lambda entry: entry.title, partial(_draw, bench, tab), width="medium")


def _workflow(example: Example) -> Workflow:
    return Workflow.of(
        Step(instruction="-", worker=f"worker {at + 1}", access=access)
        for at, access in enumerate(example.shape)
    )


# -- a workflow --------------------------------------------------------------------------------------


def _draw(bench: Workbench, tab: TabState, entry: GalleryEntry) -> None:
    key = f"gallery-query-{_DIALOG.serial}"
    workflow = workflow_for(entry, bench.pool)
    workers = ", ".join(workflow.workers())
    st.markdown(entry.sentence)
    show_first(key, entry.example)
    st.text_area(entry.fill_in, key=key, height=220)
    st.caption(plain(f"{quantity(len(workflow), 'step')}, by {workers}. Each can be changed before it runs."))
    if needs_models(bench.pool):
        st.warning(
            "This pool has no language model, so the steps cannot answer. You can open and edit the "
            "workflow; add a model to run it.",
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
                args=(bench, tab, entry, key),
                kwargs={"run": runs},
            )


def _begin(bench: Workbench, tab: TabState, entry: GalleryEntry, key: str, *, run: bool) -> None:
    if tab.pressed_again("gallery-begin"):
        return
    try:
        query = st.session_state.get(key) or ""
        session = bench.editing.open_gallery(entry, query, settings=chosen_settings(bench, tab))
        tab.open(session.id)
        _DIALOG.close()
        if run:
            bench.running.start(session.id)
    except ConductorError as error:
        tab.notify("error", str(error), place="gallery-dialog" if _DIALOG.content else "run")
