"""The bar's button of an edited workflow: evaluate it against the plan that it came from."""

from __future__ import annotations

import streamlit as st

from pages.components.tab.state import plain
from pages.components.view_models.session import SessionView
from pages.components.workbench.on_data import start_on_data
from studio.evaluation.on_data import came_from, plan_of_revision
from studio.workbench import Workbench


def evaluate(bench: Workbench, view: SessionView) -> None:
    """Draw the button and what it opens; for a workflow that is as it was planned it cannot be pressed."""
    head = view.head
    origin = None if head is None else came_from(bench, head)
    edited = head is not None and origin is not None and origin.workflow.unpinned != head.workflow.unpinned
    box = st.popover(
        "Evaluate",
        icon=":material/leaderboard:",
        key="evaluate",
        on_change="rerun",
        width="content",
        disabled=not edited,
        help=None if edited else "Compare the edited workflow with the plan it came from",
    )
    if head is None or origin is None or not edited or not box.open:
        return
    with box, st.container(key="evaluate-form", gap="small"):
        st.markdown("**Evaluate against the plan it came from**")
        whose = "as planned" if origin.origin == "conductor" else "as it came in"
        pinned = " Pinned steps are called for each question." if head.workflow.pins else ""
        st.caption(plain(f"Revision {head.number} against revision {origin.number}, {whose}.{pinned}"))
        plans = (plan_of_revision(bench, head), plan_of_revision(bench, origin))
        start_on_data(bench, view.session.id, plans, trial=False, key="evaluate")
