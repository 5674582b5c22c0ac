"""The evaluation page: planners on questions with known answers; the list of evaluations, or one of them.

The address holds which: `?evaluation=…`, with `&beside=…` another one that it is compared with; `?new=yes` is
the form of a new one.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.errors import ConductorError, StorageError
from conductor.evaluation.comparison import PlannerTwice
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report import categories_html, planner_name, table_html
from conductor.evaluation.report.evaluation_page import STYLES
from conductor.evaluation.report.remarks import METHODS, remarks
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import Rate
from conductor.text.formatting import p_value, quantity
from conductor.workflow.model import Workflow
from pages.components.evaluation.listing import PLACE, evaluation_list, open_evaluation, progress_line
from pages.components.evaluation.questions import questions
from pages.components.evaluation.record_actions import deletion_dialog, download_export, evaluation_actions
from pages.components.evaluation.setup import DEMO, new_evaluation, run_demo
from pages.components.evaluation.trials import trials_region
from pages.components.streamlit_patches.initial_values import drawn_to_the_end, on_choice, show_stored
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import Services, services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from pages.components.widgets.accuracy_figure import accuracy_figure, planner_marks
from pages.components.widgets.controls import action, page_head, watched
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.text_block import Stretch
from pages.components.widgets.text_table import Cell, Row, text_table
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.on_data import session_of_trial
from studio.evaluation.results import compared, scored_cells, table_of_evaluation

# Between two looks at an evaluation that is under way, and at one that another tab may go on with.
_LIVE_SECONDS, _IDLE_SECONDS = 1.5, 5.0
# Answers from which on each look takes long enough to be taken less often.
_MANY = 1_000

# Where the state of the tab has the session that has just taken a workflow.
_TARGET = "trial-taken"

_BESIDE = "beside"
# Evaluations that are offered, newest first; older ones come by link.
_OFFERED = 100


def page() -> None:
    with page_notices():
        st.html(STYLES)
        shared = services()
        TabState().begin_page()
        named = st.query_params.get("evaluation")
        if named is None:
            if "new" in st.query_params:
                _new(shared)
            else:
                _all(shared)
            return
        try:
            record = shared.workbench.store.evaluations.find(named)
        except StorageError as error:
            st.error(plain(str(error)), icon=":material/link_off:")
            _back()
            return
        _one(shared, record)


def _all(shared: Services) -> None:
    store = shared.workbench.store.evaluations
    with page_head("Evaluation"):
        st.space("stretch")
        st.button(
            "New evaluation",
            key="evaluation-new",
            icon=":material/add:",
            type="primary",
            on_click=st.query_params.from_dict,
            args=({"new": "yes"},),
        )
    pool_notice()
    records = store.listed()
    if not records:
        st.caption(
            "No evaluation yet. An evaluation asks several planners the same questions with known "
            "answers, and shows which is right more often and at what cost."
        )
        action(
            "Run the demo", "play_arrow", run_demo, shared, key="evaluation-demo", place=PLACE,
            help="Built-in workers: no key, no cost",
        )  # fmt: skip
        st.caption(plain(f"{SHIPPED[DEMO].about[:1].upper()}{SHIPPED[DEMO].about[1:]}; it can be stopped."))
        TabState().show_notice(PLACE)
        return
    evaluation_list(shared.evaluations, records, store.sizes())


def _new(shared: Services) -> None:
    _back()
    page_head("New evaluation")
    if pool_notice():
        new_evaluation(shared)


def _back() -> None:
    st.button(
        "All evaluations", key="all-evaluations", icon=":material/arrow_back:", type="tertiary",
        on_click=open_evaluation, args=(None,),
    )  # fmt: skip


def _one(shared: Services, record: EvaluationRecord) -> None:
    spec, store = record.spec, shared.workbench.store
    _back()
    state = shared.evaluations.state(record)
    under_way = state in ("waiting", "running", "elsewhere")
    with page_head(plain(spec.data, limit=110)):
        st.space("stretch")
        evaluation_actions(store, record, under_way=under_way)
    size = store.evaluations.sizes()[record.id]
    facts = [
        quantity(size.questions, "question"), quantity(len(spec.whole), "planner"),
        *([] if spec.repeats == 1 else [f"each question {spec.repeats} times"]),
        f"seed {spec.seed}", f"begun {clock(record.created_at)}", *spec.tags,
    ]  # fmt: skip
    st.caption(plain(" · ".join(facts)))

    many = size.sessions > _MANY
    seconds = _IDLE_SECONDS if not under_way or many else _LIVE_SECONDS
    cells = scored_cells(store, record.id)
    table = table_of_evaluation(store, record, cells)

    def draw(now: EvaluationRecord) -> None:
        progress_line(shared.evaluations, now, store.evaluations.sizes()[record.id])
        _planners_table(table_of_evaluation(store, now) if under_way else table, now.spec)

    find, state_of = partial(store.evaluations.find, record.id), shared.evaluations.state
    watched(find, draw, key="evaluation-watch", seconds=seconds, was=state, state=state_of)
    _trial(shared, record, done=state == "done")
    deletion_dialog(store, record, sessions=size.sessions)
    accuracy_figure(table, spec)
    _categories(table, spec)
    questions(store, record, cells)
    _beside_another(store, record)
    download_export()


def _planners_table(table: EvaluationTable, spec: EvaluationSpec) -> None:
    with st.container(key="planners-table"):
        st.html(table_html(table, spec, marks=planner_marks(spec)))
    st.caption(
        f"{METHODS} Differences are from the first planner, in percentage points; bold means p < 0.05. "
        "Tokens, cost, calls, steps and time are means per question; “-” means unknown. The perfect "
        "router is computed afterwards: it takes the best single worker for each question."
    )
    sentences = [*remarks(table, lambda planner: planner_name(planner, spec)), table.judging_words]
    st.caption(plain(" ".join(filter(None, sentences)), limit=2000))


def _categories(table: EvaluationTable, spec: EvaluationSpec) -> None:
    """Accuracy by category; nothing where the questions have none."""
    html = categories_html(table, spec, marks=planner_marks(spec))
    if html:
        st.subheader("By category", anchor=False)
        with st.container(key="categories-table"):
            st.html(html)


def _trial(shared: Services, record: EvaluationRecord, *, done: bool) -> None:
    """What a trial on data found; its suggestion is taken into the session of its workflow."""
    store = shared.workbench.store
    session = session_of_trial(store, record)

    def take(workflow: Workflow, note: str) -> None:
        if session is not None:
            shared.workbench.editing.edit(session, workflow, note=note)
            st.session_state[_TARGET] = session

    trials_region(store, record, take=None if session is None else take, key="trial", done=done)
    if target := st.session_state.pop(_TARGET, None):
        st.switch_page("pages/workbench.py", query_params={"session": target})


def _beside_another(store: SessionStore, record: EvaluationRecord) -> None:
    """Draw the field and, for the one that is chosen, the comparison; nothing where there is no other one."""
    others = {each.id: each for each in store.evaluations.listed()[:_OFFERED] if each.id != record.id}
    if not others:
        return
    names = {id: f"{each.spec.data} · {clock(each.created_at)}" for id, each in others.items()}
    st.subheader("Compare with another evaluation", anchor=False)
    chosen = st.query_params.get(_BESIDE)
    key = show_stored("evaluation-beside", chosen if chosen in others else None)

    def select(other: str | None) -> None:
        if other is None:
            st.query_params.pop(_BESIDE, None)
        else:
            st.query_params[_BESIDE] = other

    st.selectbox(
        "Another evaluation", list(others), index=None, key=key, placeholder="Choose an evaluation",
        format_func=distinct_labels(names),
        label_visibility="collapsed", on_change=on_choice(key, select), width=420,
    )  # fmt: skip
    other = others.get(chosen or "")
    if other is None:
        return
    try:
        comparisons = compared(store, record, other)
    except ConductorError as error:
        st.warning(plain(str(error), limit=1000), icon=":material/difference:")
        return
    rows = [_twice(each, record, other) for each in comparisons]
    columns = ["This one", clock(other.created_at), "Difference", "p"]
    text_table(rows, key="evaluations-compared", label="Both evaluations", columns=columns, narrow=True)
    if len(rows) > 1:
        st.caption(f"p is adjusted over the {len(rows)} planners (Holm).")


def _twice(planner: PlannerTwice, record: EvaluationRecord, other: EvaluationRecord) -> Row:
    of = record.spec if planner.planner in record.spec.planners else other.spec
    difference = planner.difference
    figures = (
        _share(planner.first),
        _share(planner.second),
        "-" if difference is None else f"{100 * difference.difference:+.1f}".replace("-", "\u2212"),
        "-" if difference is None else p_value(difference.read_p),
    )
    name = planner_name(planner.planner, of)
    return Row(name, tuple(Cell(text=(Stretch(figure),)) for figure in figures))


def _share(rate: Rate | None) -> str:
    return "-" if rate is None else f"{rate.mean:.1%} of {rate.questions:,}"


page()
drawn_to_the_end()
