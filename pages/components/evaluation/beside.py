"""Two evaluations side by side, planner by planner, or why they cannot be compared. The choice is kept in
the address.
"""

from __future__ import annotations

import streamlit as st

from conductor.errors import ConductorError
from conductor.evaluation.comparison import PlannerTwice
from conductor.evaluation.report import planner_name
from conductor.evaluation.statistics import Rate
from conductor.text.formatting import p_value
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import plain
from pages.components.view_models.run_text import clock
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.text_block import Stretch
from pages.components.widgets.text_table import Cell, Row, text_table
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import compared

_PARAMETER = "beside"
_OFFERED = 100
"""Evaluations that are offered, newest first; older ones come by link."""


def beside_another(store: SessionStore, record: EvaluationRecord) -> None:
    """Draw the field and, for the one that is chosen, the comparison; nothing where there is no other one."""
    others = {each.id: each for each in store.evaluations.listed()[:_OFFERED] if each.id != record.id}
    if not others:
        return
    names = {id: f"{each.spec.data} · {clock(each.created_at)}" for id, each in others.items()}
    st.subheader("Compare with another evaluation", anchor=False)
    chosen = st.query_params.get(_PARAMETER)
    key = show_stored("evaluation-beside", chosen if chosen in others else None)

    def select(other: str | None) -> None:
        if other is None:
            st.query_params.pop(_PARAMETER, None)
        else:
            st.query_params[_PARAMETER] = other

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
    rows = [_row(each, record, other) for each in comparisons]
    columns = ["This one", clock(other.created_at), "Difference", "p"]
    text_table(rows, key="evaluations-compared", label="Both evaluations", columns=columns, narrow=True)
    if len(rows) > 1:
        st.caption(f"p is adjusted over the {len(rows)} planners (Holm).")


def _row(planner: PlannerTwice, record: EvaluationRecord, other: EvaluationRecord) -> Row:
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
