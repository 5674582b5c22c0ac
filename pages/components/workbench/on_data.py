"""Beginning an evaluation of the open session's workflow: the choice of data, its forecast, the start."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.errors import ConductorError
from conductor.evaluation.forecast import Forecast
from conductor.evaluation.given import FixedPlan
from conductor.evaluation.trials import MARGIN
from conductor.text.formatting import counted
from conductor.values.budget import Budget
from pages.components.tab.services import services
from pages.components.tab.state import plain
from pages.components.widgets.budget_fields import budget_fields
from studio.evaluation.on_data import DataChoice, add_on_data, data_choices, forecast_on
from studio.workbench import Workbench

EVALUATION_PAGE = "pages/evaluation.py"


def start_on_data(
    bench: Workbench, session: str, plans: Sequence[FixedPlan], *, trial: bool, key: str
) -> None:
    """Draw the choice of data and budget, what it will take, and the button that begins and opens it."""
    choices = data_choices(bench)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{key}-choice"):
        chosen = st.selectbox(
            "Data", range(len(choices)), key=f"{key}-data", format_func=lambda at: plain(choices[at].title)
        )
        margin = _margin(key) if trial else None
        budget = _budget(choices[chosen], key)
        started = st.button("Start", key=f"{key}-start", icon=":material/play_arrow:", type="primary")
    try:
        if started:
            record = add_on_data(bench, choices[chosen], plans, margin=margin, budget=budget)
            services().evaluations.begin(record.id)
        else:
            st.caption(plain(_words(forecast_on(bench, choices[chosen], plans, session))))
            return
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.switch_page(EVALUATION_PAGE, query_params={"evaluation": record.id})


def _budget(choice: DataChoice, key: str) -> Budget:
    """What it may spend; of the questions of an earlier evaluation first what that one might."""
    earlier = choice.earlier
    if earlier is None:
        return budget_fields(f"{key}-{choice.name}")
    return budget_fields(f"{key}-{earlier.id}", given=earlier.spec.settings.budget)


def _margin(key: str) -> float:
    """How much worse in accuracy a variant may be, as a share."""
    points = st.number_input(
        "Margin, points",
        min_value=1,
        max_value=50,
        value=round(100 * MARGIN),
        key=f"{key}-margin",
        width=160,
        help="A variant is not worse where the whole 95% interval of its difference in accuracy lies above "
        "minus this many percentage points",
    )
    return points / 100


def _words(found: Forecast) -> str:
    calls = f"At most {counted(found.new, 'call')}" if found.new else "No call of a model"
    shared = f"{found.reused:,} more are shared" if found.reused else ""
    judged = f"beside {counted(found.judged, 'call')} of the judge" if found.judged else ""
    return ", ".join(filter(None, [calls, shared, *found.estimate.words, judged])) + "."
