"""Trials on data: every edge, step and worker of the workflow on questions with known answers."""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.errors import ConductorError
from conductor.evaluation.report.evaluation_page import STYLES
from conductor.text.formatting import quantity
from conductor.workflow.model import Workflow
from pages.components.evaluation.listing import progress_line
from pages.components.evaluation.trials import trials_region
from pages.components.tab.services import services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import expander, watched
from pages.components.widgets.labels import distinct_labels
from pages.components.workbench.editor import Editor
from pages.components.workbench.on_data import EVALUATION_PAGE, start_on_data
from storage import Revision
from storage.records import EvaluationRecord
from studio.evaluation.on_data import trials_of_session, variants
from studio.evaluation.trials import VariantKinds
from studio.workbench import Workbench

_POLL_SECONDS = 1.5

_PARTS = {"edges": "Leave out each edge", "steps": "Leave out each step", "workers": "Other workers"}


def new_data_trial(bench: Workbench, view: SessionView, head: Revision) -> None:
    """Draw the way to a new one."""
    chosen = st.pills(
        "What to try",
        list(_PARTS),
        default=list(_PARTS),
        selection_mode="multi",
        key="data-trial-parts",
        label_visibility="collapsed",
        format_func=distinct_labels(_PARTS),
    )
    try:
        plans = variants(bench, head, VariantKinds(**{part: part in chosen for part in _PARTS}))
    except ConductorError as error:
        st.caption(plain(str(error)))
        return
    pinned = " Pinned steps are called for each question." if head.workflow.pins else ""
    st.caption(
        f"{quantity(len(plans) - 1, 'variant')} of this workflow on every question, held against it as it "
        f"is, and the cheapest that is not worse.{pinned}"
    )
    start_on_data(bench, view.session.id, plans, trial=True, key="data-trial")


def data_trials(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw those that were made, the newest one open."""
    records = trials_of_session(bench, view.session.id)
    if records:
        st.html(STYLES)
    for at, record in enumerate(records):
        questions = bench.store.evaluations.sizes()[record.id].questions
        title = f"On {record.spec.data}, {quantity(questions, 'question')} · {clock(record.created_at)}"
        if at == 0:
            with st.container(border=True, key=f"data-trial-{record.id}", gap="small"):
                st.markdown(f":material/dataset: **{plain(title)}**")
                _newest(bench, tab, view, record)
        elif box := expander(plain(title), "dataset", key=f"data-trial-{record.id}"):
            with box:
                _results(bench, tab, view, record)


def _newest(bench: Workbench, tab: TabState, view: SessionView, record: EvaluationRecord) -> None:
    evaluations = services().evaluations
    state = evaluations.state(record)
    under_way = state in ("waiting", "running", "elsewhere")

    def draw(now: EvaluationRecord) -> None:
        progress_line(evaluations, now, bench.store.evaluations.sizes()[record.id])
        if under_way:
            trials_region(bench.store, now, take=None, key=f"trial-{record.id}", done=False)

    find, seconds = partial(bench.store.evaluations.find, record.id), _POLL_SECONDS if under_way else None
    watched(find, draw, key="data-trial-watch", seconds=seconds, was=state, state=evaluations.state)
    if not under_way:
        _results(bench, tab, view, record)


def _results(bench: Workbench, tab: TabState, view: SessionView, record: EvaluationRecord) -> None:
    editor = None
    if view.head is not None and not view.locked:
        editor = Editor.of(bench, tab, view.head, place="panels")
    done = record.ended_at is not None and record.reason is None
    take = None if editor is None else partial(_take, editor)
    trials_region(bench.store, record, take=take, key=f"trial-{record.id}", done=done)
    st.page_link(
        EVALUATION_PAGE,
        label="Open the evaluation",
        icon=":material/leaderboard:",
        query_params={"evaluation": record.id},
    )


def _take(editor: Editor, workflow: Workflow, note: str) -> None:
    editor.commit(lambda: workflow, note, select=0)
