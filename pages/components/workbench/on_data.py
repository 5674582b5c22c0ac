"""Beginning an evaluation of the open session's workflow: the choice of data, its forecast, the start."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.errors import ConductorError
from conductor.evaluation.forecast import Forecast
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.report.remarks import power_of_trial
from conductor.evaluation.trials import MARGIN
from conductor.text.formatting import quantity
from conductor.values.budget import NO_BUDGET
from pages.components.tab.services import services
from pages.components.tab.state import plain
from pages.components.widgets.budget_fields import budget_fields
from pages.components.widgets.labels import distinct_labels
from studio.evaluation.on_data import DataChoice, add_on_data, data_choices, forecast_on
from studio.workbench import Workbench

EVALUATION_PAGE = "pages/evaluation.py"


def start_on_data(
    bench: Workbench, session: str, plans: Sequence[FixedPlan], *, trial: bool, key: str
) -> None:
    """Draw the choice of data and budget, what it will take, and the button that begins and opens it."""
    choices = {_id(choice): choice for choice in data_choices(bench)}
    titles = {id: choice.title for id, choice in choices.items()}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{key}-choice"):
        data = st.selectbox("Data", list(choices), key=f"{key}-data", format_func=distinct_labels(titles))
        chosen = choices[data]
        margin = _margin(key) if trial else None
        # Of the questions of an earlier evaluation first what that one might spend.
        limits = NO_BUDGET if chosen.earlier is None else chosen.earlier.spec.settings.budget
        budget = budget_fields(f"{key}-{data}", initial=limits)
        started = st.button("Start", key=f"{key}-start", icon=":material/play_arrow:", type="primary")
    try:
        if started:
            record = add_on_data(bench, chosen, plans, margin=margin, budget=budget)
            services().evaluations.begin(record.id)
        else:
            expected = forecast_on(bench, chosen, plans, session, trial=trial)
            repeats = 1 if chosen.earlier is None else chosen.earlier.spec.repeats
            power = "" if margin is None else power_of_trial(expected.held_out // repeats, margin)
            st.caption(plain(f"{_words(expected)} {power}".strip(), limit=1000))
            return
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.switch_page(EVALUATION_PAGE, query_params={"evaluation": record.id})


def _id(choice: DataChoice) -> str:
    return choice.name if choice.earlier is None else choice.earlier.id


def _margin(key: str) -> float:
    """How much worse in accuracy a variant may be, as a share."""
    points = st.number_input(
        "Margin, points",
        min_value=1,
        max_value=50,
        value=round(100 * MARGIN),
        key=f"{key}-margin",
        width=160,
        help="“Not worse”: the whole 95% interval of the accuracy difference lies above minus this "
        "many percentage points",
    )
    return points / 100


def _words(forecast: Forecast) -> str:
    calls = f"At most {quantity(forecast.new, 'call')}" if forecast.new else "No model calls"
    shared = f"{forecast.reused:,} more are shared" if forecast.reused else ""
    judged = f"beside {quantity(forecast.judged, 'call')} of the judge" if forecast.judged else ""
    return ", ".join(filter(None, [calls, shared, *forecast.estimate.words, judged])) + "."
