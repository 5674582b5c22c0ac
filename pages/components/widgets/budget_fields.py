"""The fields for what an evaluation may spend, and the figures that it will probably take."""

from __future__ import annotations

import streamlit as st

from conductor.text.formatting import dollars, duration
from conductor.values.budget import NO_BUDGET, Budget
from studio.evaluation.outlook import EvaluationOutlook, approximation


def budget_fields(key: str, *, initial: Budget = NO_BUDGET) -> Budget:
    """Draw them with the `initial` limits; their keys are `KEY-cost` and `KEY-tokens`.

    The limits on time and calls that are given stay.
    """
    # Only a field whose own first value is none can be emptied.
    for limit in ("cost", "tokens"):
        st.session_state.setdefault(f"{key}-{limit}", getattr(initial, limit))
    cost = st.number_input(
        "Budget, $", min_value=0.01, value=None, placeholder="None", key=f"{key}-cost", width=120,
        help="It stops when this is spent; you can resume it",
    )  # fmt: skip
    tokens = st.number_input(
        "Budget, tokens", min_value=1, value=None, placeholder="None", key=f"{key}-tokens", width=140
    )
    limits = {"cost": cost, "tokens": None if tokens is None else int(tokens)}
    return Budget.model_validate(initial.model_dump() | limits)


def forecast_figures(answers: int, forecast: EvaluationOutlook, *, key: str) -> None:
    """Draw in a row what it will probably take."""
    figures = {
        "Answers": f"{answers:,}",
        "Calls": approximation(forecast.calls, "call"),
        "Tokens": "-" if forecast.tokens is None else approximation(forecast.tokens, "token"),
        "Cost": "-" if forecast.cost is None else f"~{dollars(forecast.cost)}".replace("~<", "<"),
        "Time": "-" if forecast.seconds is None else f"~{duration(forecast.seconds)}".replace("~<", "<"),
    }
    with st.container(horizontal=True, gap="medium", key=key):
        for name, figure in figures.items():
            st.metric(name, figure, width="content")
