"""The learning page: planners that learn on the pool's own questions, and small Conductors trained by
reinforcement beside the app; the lists, or one of either.

The address holds which: `?planner=…`, `?run=…`.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import streamlit as st

from conductor.errors import DataError
from pages.components.graph import load_library
from pages.components.learning.lessons import lessons_region
from pages.components.learning.pool_region import one_planner, your_pool
from pages.components.learning.runs import facts, open_run, progress, run_list
from pages.components.learning.training_results import (
    curve_charts,
    plans_before_and_after,
    results_table,
    shipped_region,
)
from pages.components.learning.training_setup import THREADS, new_training
from pages.components.learning.use import use_button
from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import Services, services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import page_head, watched
from pages.components.widgets.pool_saving import saved_notice
from studio.learning.training_run import TrainingRun, read_run, runs_below

# Between two looks at a training that is under way, and at one that another tab may go on with.
_LIVE_SECONDS, _IDLE_SECONDS = 1.5, 5.0


def page() -> None:
    """Draw the page for this tab."""
    with page_notices():
        tab, shared = TabState(), services()
        tab.begin_page()
        with st.container(key="machinery"):
            load_library()
        planner = st.query_params.get("planner")
        if planner is not None:
            one_planner(shared, tab, Path(planner).name)
            return
        named = st.query_params.get("run")
        if named is None:
            _all(shared, tab)
            return
        st.button(
            "All trainings", key="all-trainings", icon=":material/arrow_back:", type="tertiary",
            on_click=open_run, args=(None,),
        )  # fmt: skip
        try:
            run = _read(shared, shared.trainings.folder / Path(named).name)
        except DataError as error:
            st.error(plain(str(error)), icon=":material/link_off:")
            return
        _one(shared, tab, run)


def _all(shared: Services, tab: TabState) -> None:
    page_head("Learning")
    usable = pool_notice()
    saved_notice(tab)
    your_pool(shared, usable=usable)
    st.header("Demonstration: a small Conductor", anchor=False)
    st.caption(
        "Train a Conductor of 0.2 million parameters from scratch on this machine: it learns to split "
        "questions from the results of its own plans. The questions are those of the orchard, nine "
        "families with workers that compute the answers. It demonstrates the method, not what a large "
        "Conductor can do."
    )
    shipped_region()
    runs, broken = runs_below(shared.trainings.folder)
    if runs:
        run_list(runs)
    for name in broken:
        st.caption(plain(f"{name} has no training that can be read."))
    new_training(shared)
    lessons_region(shared)


def _read(shared: Services, path: Path) -> TrainingRun:
    return read_run(path, is_starting=shared.trainings.runs_here(path))


def _one(shared: Services, tab: TabState, run: TrainingRun) -> None:
    state = run.state
    with page_head(plain(run.name, limit=80)):
        st.space("stretch")
        if state == "done":
            use_button(run.trained, key="use-trained")
    st.caption(plain(" · ".join(facts(run))))
    saved_notice(tab)

    def draw(now: TrainingRun) -> None:
        progress(shared, now, threads=THREADS)
        curve_charts(now)

    watched(
        lambda: _read(shared, run.path),
        draw,
        key="training-watch",
        seconds=_LIVE_SECONDS if state == "running" else _IDLE_SECONDS,
        was=state,
        state=attrgetter("state"),
    )
    if run.results is not None:
        results_table(run.results)
    plans_before_and_after(run.path)


page()
drawn_to_the_end()
