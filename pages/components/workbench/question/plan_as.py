"""Planning the question by a published method, such as Mixture-of-Agents, in the place of the Conductor.

Knows the baselines by their titles; the workflow that one writes is run and edited as any other.
"""

from __future__ import annotations

import streamlit as st

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import PREFIX, WORKER
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.widgets.labels import distinct_labels
from studio.workbench import Workbench


def plan_as(bench: Workbench, view: SessionView) -> None:
    """Draw the choice of a method, and of its worker or of what it has learnt where it needs one."""
    st.markdown("Plan with a published method", help="Its workflow replaces the current one")
    session, learnt = view.session.id, list(bench.pool.fitted)
    methods = [name for name, entry in BASELINES.items() if entry.method is not None or learnt]
    with row("plan-as"):
        method = st.selectbox(
            "Method",
            methods,
            index=methods.index("moa"),
            key=f"plan-as-method-{session}",
            format_func=distinct_labels({name: BASELINES[name].label for name in methods}),
            label_visibility="collapsed",
            width=220,
        )
        entry, choice = BASELINES[method], ""
        if entry.method is None:
            choice = "fitted=" + st.selectbox(
                "Fitted from",
                learnt,
                key=f"plan-as-fitted-{session}",
                label_visibility="collapsed",
                width=180,
            )
        if entry.one_worker:
            choice = st.selectbox(
                "Its worker",
                bench.pool.names,
                key=f"plan-as-worker-{session}",
                label_visibility="collapsed",
                width=180,
            )
        action(
            f"Plan as {entry.label}",
            "schema",
            lambda: bench.planning.begin_as(session, _name(method, choice)),
            key="plan-as-begin",
            help="Undo restores the current workflow",
            disabled=view.locked,
            place="settings",
        )
        st.caption(entry.about, width="content")


def _name(method: str, choice: str) -> str:
    if method == "worker":
        return f"{WORKER}{choice}"
    return f"{PREFIX}{method}:{choice}" if choice else f"{PREFIX}{method}"
