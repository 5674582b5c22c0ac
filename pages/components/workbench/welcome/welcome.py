"""The page while no session is open: a recorded run that plays, what can be asked, and what to begin with."""

from __future__ import annotations

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.pool.offers import first_models
from pages.components.tab.state import TabState
from pages.components.workbench.question.composer import composer
from pages.components.workbench.welcome.gallery import gallery
from pages.components.workbench.welcome.stage import Stage, stage
from studio.workbench import Workbench

focus_fallback("welcome", "stop", "run", "query")


def welcome(bench: Workbench, tab: TabState, current: Stage) -> None:
    with st.container(key="welcome", gap="small"):
        with st.container(key="welcome-head", gap="small"):
            st.title("Conductor Studio", anchor=False)
            st.markdown(
                "A Conductor splits your question into steps and gives each to a model; you see the plan, "
                "change it, and rerun only what changed."
            )
        stage(bench, tab, current)
        with st.container(key="welcome-composer"):
            composer(bench, tab, None)
        gallery(bench, tab)
        first_models(bench, tab)
