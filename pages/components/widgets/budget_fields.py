"""The fields in which a person sets what an evaluation may spend."""

from __future__ import annotations

import streamlit as st

from conductor.values.budget import NO_BUDGET, Budget


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
