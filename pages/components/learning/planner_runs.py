"""Learnings of planners: the list, and how far one is with the buttons that stop it or go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.planner_learning import facts, phase, progress_words
from pages.components.widgets.accuracy_figure import accuracy_figure
from pages.components.widgets.budget_fields import budget_fields
from pages.components.widgets.controls import action, row
from storage.records import EvaluationRecord
from studio.evaluation.results import scored_cells, table_of_evaluation
from studio.learning.planner_run import PlannerRun, State, planner_runs_below, read_planner_run

PLACE = "planner"
"""Where notices about planners stand."""

_STATES: Mapping[State, tuple[str, str]] = {
    "running": (":material/progress_activity:", "learning"),
    "interrupted": (":material/pause_circle:", "stopped"),
    "done": (":material/check_circle:", "done"),
}


def open_planner(name: str | None) -> None:
    """Have the page show that learning; None: the list."""
    st.query_params.from_dict({} if name is None else {"planner": name})


def read(shared: Services, path: Path) -> PlannerRun:
    """The learning in a folder as it is now. Raises as `read_planner_run`."""
    return read_planner_run(path, is_starting=shared.trainings.runs_here(path))


def planner_list(shared: Services) -> None:
    """Draw it, the newest first."""
    runs, broken = planner_runs_below(shared.trainings.folder, shared.trainings.runs_here)
    with st.container(key="planners", gap="small"):
        for run in runs:
            icon, words = _STATES[run.state]
            with st.container(key=f"planner-{run.name}", gap=None):
                st.button(
                    plain(run.name, limit=80), key=f"open-planner-{run.name}", icon=icon, type="tertiary",
                    help="Open it", on_click=open_planner, args=(run.name,),
                )  # fmt: skip
                st.caption(plain(" · ".join([words, *facts(run)])))
    for name in broken:
        st.caption(plain(f"{name} has no planner that can be read."))


def planner_progress(shared: Services, run: PlannerRun) -> None:
    """A bar while it goes on, else why it does not, and its examination so far; nothing where it is done."""
    TabState().show_notice(PLACE)
    if run.state == "done":
        return
    icon, words = _STATES[run.state]
    store = shared.workbench.store
    learning = run.learning
    ids = () if learning is None else tuple(filter(None, (learning.fit, learning.exam)))
    record = store.evaluations.find(ids[-1]) if ids else None
    with st.container(key="planner-progress", border=True, gap="small"):
        share, line = _progress(shared, record, ids)
        st.progress(share)
        with row():
            st.markdown(f"{icon} **{words.capitalize()}** · {plain(phase(run) + line)}", width="stretch")
            _buttons(shared, run)
        if run.state == "interrupted" and (failure := shared.trainings.failure(run.path)) is not None:
            st.error(plain(failure, limit=800), icon=":material/error:")
            evaluation_links(run)
    if record is not None and learning is not None and learning.exam is not None:
        accuracy_figure(table_of_evaluation(store, record), record.spec)


def evaluation_links(run: PlannerRun) -> None:
    """The evaluations of a learning, as far as they are begun."""
    if run.learning is None:
        return
    ids = {"Every plan that was tried": run.learning.fit, "Every held-out answer": run.learning.exam}
    with st.container(horizontal=True, gap="medium", key="planner-evaluations"):
        for title, id in ids.items():
            if id is not None:
                st.page_link(
                    "pages/evaluation.py", label=title, icon=":material/fact_check:",
                    query_params={"evaluation": id},
                )  # fmt: skip


def _progress(shared: Services, record: EvaluationRecord | None, ids: tuple[str, ...]) -> tuple[float, str]:
    """How much of what goes on is done, from 0 to 1, and in words."""
    if record is None:
        return 0.0, ""
    store = shared.workbench.store
    size = store.evaluations.sizes()[record.id]
    cells = record.spec.cells(size.questions)
    right = sum(cell.result.score.right for cell in scored_cells(store, record.id))
    used = sum(store.ledger.charged_for_evaluation(id)[0].tokens for id in ids)
    words = progress_words(scored=size.scored, cells=cells, right=right, used=used)
    return size.scored / max(1, cells), f" · {words}"


def _buttons(shared: Services, run: PlannerRun) -> None:
    trainings = shared.trainings
    if run.state == "interrupted":
        if run.settings is not None:
            action(
                "Resume", "play_arrow", trainings.resume_planner, run.path, run.settings,
                key="planner-resume", type="primary", help="All answers so far are stored", place=PLACE,
            )  # fmt: skip
    elif trainings.runs_here(run.path):
        action(
            "Stop", "stop", trainings.stop, run.path, key="planner-stop", place=PLACE,
            help="All answers so far are stored; you can resume it",
        )  # fmt: skip


def more_budget(shared: Services, run: PlannerRun) -> None:
    """Why learning ended before its end, and the way on; nothing where it did not."""
    card = None if run.planner is None else run.planner.card
    if run.state != "done" or card is None or card.stopped is None:
        return
    with st.container(border=True, key="planner-stopped", gap="small"):
        st.markdown(f":material/data_usage: {plain(card.stopped, limit=600)}")
        if run.settings is None:
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            budget = budget_fields("planner-more", initial=run.settings.budget)
            settings = run.settings.model_copy(update={"budget": budget})
            action(
                "Continue", "play_arrow", shared.trainings.resume_planner, run.path, settings,
                key="planner-continue", place=PLACE, help="With this budget for all of it",
            )  # fmt: skip
