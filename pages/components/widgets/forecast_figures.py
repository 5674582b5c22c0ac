"""The forecast of an evaluation, in figures."""

from __future__ import annotations

import streamlit as st

from conductor.text.formatting import dollars, duration
from studio.evaluation.outlook import EvaluationOutlook, approximation


def forecast_figures(answers: int, forecast: EvaluationOutlook, *, key: str) -> None:
    """Draw them in a row."""
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
