"""The page while no session is open: what can be asked, and what else there is to begin with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.pool.offers import first_models
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row
from pages.components.workbench.question.composer import ask, composer
from pages.components.workbench.welcome.gallery import gallery
from studio.workbench import Workbench

focus_fallback("welcome", "stop", "run", "query")

EXAMPLES: tuple[tuple[str, str, str], ...] = (
    ("calculate", "What is 17 * 23?", "One exact step"),
    ("compare_arrows", "Compare France, Japan and Brazil", "Independent steps and an aggregator"),
    ("account_tree", "Plan a birthday party for ten children", "Plan, execute, verify"),
)

OF_THE_ORCHARD: tuple[tuple[str, str, str], ...] = (
    ("calculate", "What is 12 times 7 plus 30 times 4 minus 9?", "A long sum, and a check"),
    ("abc", "How many letters are in the capital of Peru?", "A fact, then a count"),
    (
        "account_tree",
        "Count the letters of the capitals of Peru and Chad together.",
        "Two facts at once, then a count",
    ),
)

_OFFERS: tuple[Callable[[Workbench, TabState], None], ...] = (first_models, gallery)
"""What else there is to begin with, in this order, below the examples; each has a container of its own."""


def welcome(bench: Workbench, tab: TabState) -> None:
    """Draw it."""
    with st.container(key="welcome", gap="medium"):
        st.title("Ask, and see the plan before it runs", anchor=False)
        st.markdown(
            "A Conductor writes a workflow: steps, who does them, and what each may read. "
            "Review it, change it, run it; a rerun calls only what your change touched."
        )
        with st.container(key="welcome-composer"):
            composer(bench, tab, None)
        with st.container(key="examples"):
            orchard = any(card.model.startswith("orchard/") for card in bench.pool.cards.values())
            examples = OF_THE_ORCHARD if orchard else EXAMPLES
            for column, (icon, query, shape) in zip(st.columns(len(examples)), examples, strict=True):
                with column.container(gap="xsmall"):
                    action(
                        plain(query),
                        icon,
                        partial(ask, bench, tab, query, run=bool(tab.runs_plans)),
                        key=f"example-{query}",
                        width="stretch",
                    )
                    st.caption(shape)
        if bench.pool.label:
            with row():
                st.caption(
                    f":material/cloud_off: Without a model of your own: {bench.pool.label}.", width="content"
                )
                st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
        for at, offer in enumerate(_OFFERS):
            with st.container(key=f"offer-{at}"):
                offer(bench, tab)
