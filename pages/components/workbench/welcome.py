"""What an empty workbench shows: what to do, and three questions to start with."""

from __future__ import annotations

import streamlit as st

from pages.components.tab.state import TabState, plain
from pages.components.workbench.sidebar import plan_query
from studio.workbench import Workbench

EXAMPLES: tuple[tuple[str, str, str], ...] = (
    (":material/calculate:", "What is 17 * 23?", "Solve, then check: two steps"),
    (":material/compare_arrows:", "Compare France, Japan and Brazil", "Independent steps and an aggregator"),
    (":material/function:", "Solve the system 3x + 2y = 12 and x - y = 1", "Plan, execute, verify"),
)


def welcome(bench: Workbench, tab: TabState) -> None:
    """Draw it."""
    with st.container(key="welcome", gap="medium"):
        st.title("Ask, and see the plan before it runs", anchor=False)
        st.markdown(
            "A Conductor writes a workflow: steps, who does them, and what each may read. "
            "Review it, change it, run it; a rerun calls only what your change touched."
        )
        for column, (icon, query, shape) in zip(st.columns(len(EXAMPLES)), EXAMPLES, strict=True):
            with column.container(gap="xsmall"):
                st.button(
                    plain(query),
                    key=f"example-{query}",
                    icon=icon,
                    width="stretch",
                    on_click=plan_query,
                    args=(bench, tab),
                    kwargs={"query": query},
                )
                st.caption(shape)
        if bench.pool.label:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.caption(f":material/cloud_off: This pool is {bench.pool.label}.", width="content")
                st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
