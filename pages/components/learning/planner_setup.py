"""A new planner for the pool: from which questions it learns, how, and what that takes before it starts."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import streamlit as st

from conductor.errors import ConductorError, DataError
from conductor.evaluation.items import DataSet
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, JudgeSpec
from conductor.workers.pool.built_in import BUILT_IN, from_any_folder
from conductor.workers.pool.pool import configured_path
from pages.components.learning.planner_runs import PLACE, open_planner
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.planner_learning import METHOD_LINES, METHODS, forecast_words, whole
from pages.components.widgets.budget_fields import budget_fields
from pages.components.widgets.controls import action
from pages.components.widgets.forecast_figures import forecast_figures
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.question_choice import (
    Chosen,
    chosen_questions,
    code_consent,
    judge_choice,
    needs,
)
from studio.evaluation.planner_learning.learning_folder import (
    LearningFolder,
    LearningSettings,
    check_name,
)
from studio.evaluation.planner_learning.planner_learning import (
    Halves,
    PlannerLearning,
    usual_planners,
    usual_use,
)
from studio.learning.planner_run import PlannerSettings
from studio.workbench import Workbench

_DRAWS, _PLANS = (LearningSettings.model_fields[name].default for name in ("draws", "plans"))
_NAME = "mine"


def new_planner(shared: Services) -> None:
    """Draw the form; *Learn* begins, and opens the learning."""
    chosen = chosen_questions(shared.workbench.store)
    if chosen is None:
        return
    pool = None if chosen.pool is None or _has_workers(shared.workbench, chosen.pool) else chosen.pool
    bench = shared.evaluations.on(pool)
    if pool is not None:
        st.caption(plain(f"On the built-in pool “{pool}”, which needs no key."))
    name, settings = _settings(shared.trainings.folder, chosen, bench, pool)
    path = shared.trainings.folder / name
    try:
        check_name(name)
        if path.exists():
            raise DataError(f"There is a folder {name} already; choose another name.")
        _forecast(path, bench, chosen, settings)
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    TabState().show_notice(PLACE)
    without_leave = needs(chosen.data, "code") and not settings.allow_code
    without_judge = needs(chosen.data, "judge") and settings.judge is None
    action(
        "Learn", "school", _begin, shared, name, settings, None if chosen.shipped else chosen.data,
        key="planner-learn", type="primary", place=PLACE, disabled=without_leave or without_judge,
        help=plain(f"In {path}"),
    )  # fmt: skip


def _has_workers(bench: Workbench, pool: str) -> bool:
    """Whether the pool has all workers of that built-in set."""
    return {worker.card.name for worker in BUILT_IN[pool]()} <= set(bench.pool.names)


def _begin(shared: Services, name: str, settings: PlannerSettings, questions: DataSet | None) -> None:
    if not TabState().pressed_again("planner-learn"):
        open_planner(shared.trainings.learn_planner(name, settings, questions).name)


def _settings(
    folder: Path, chosen: Chosen, bench: Workbench, pool: str | None
) -> tuple[str, PlannerSettings]:
    """The planner's name, and how it learns."""
    own = configured_path()
    with st.container(horizontal=True, gap="small", key="planner-how"):
        name = st.text_input("Name", _free_name(folder), key="planner-name", max_chars=40, width=160)
        use = st.selectbox(
            "Method", list(METHODS), index=list(METHODS).index(usual_use(bench)), key="planner-use",
            width=320, format_func=distinct_labels(METHODS),
        )  # fmt: skip
        budget = budget_fields("planner")
    st.caption(METHOD_LINES[use])
    with (
        st.expander("Settings", icon=":material/tune:", key="planner-settings"),
        st.container(horizontal=True, gap="small", key="planner-more"),
    ):
        limit = st.number_input(
            "Questions", min_value=1, max_value=len(chosen.data.items), value=None, key="planner-limit",
            width=120, placeholder=f"All {len(chosen.data.items):,}", help="Use only the first ones",
        )  # fmt: skip
        draws = st.number_input(
            "Random plans", min_value=0, max_value=1000, value=_DRAWS, key="planner-draws", width=130,
            help="Tried on each question, besides those of the Conductor, the workers and the baselines",
        )  # fmt: skip
        plans = st.number_input(
            "Best plans", min_value=0, max_value=1000, value=_PLANS, key="planner-plans", width=130,
            help="How many of the plans that were right are tried on all questions",
        )  # fmt: skip
        seed = st.number_input("Seed", min_value=0, value=0, key="planner-seed", width=105)
    judge = judge_choice(chosen.data, bench.pool)
    return name, PlannerSettings(
        data=chosen.shipped or chosen.data.name,
        pool=pool or (None if own is None else str(from_any_folder(own))),
        use=use,
        draws=int(draws),
        plans=int(plans),
        limit=None if limit is None else int(limit),
        seed=int(seed),
        judge=judge,
        allow_code=code_consent(chosen.data),
        budget=budget,
    )


def _free_name(folder: Path) -> str:
    """The first of mine, mine-2 ... that no folder has."""
    numbered = (f"{_NAME}-{number}" if number > 1 else _NAME for number in count(1))
    return next(name for name in numbered if not (folder / name).exists())


# -- the forecast ----------------------------------------------------------------------------------


def _forecast(path: Path, bench: Workbench, chosen: Chosen, settings: PlannerSettings) -> None:
    """Draw what it will take. Raises `DataError` for too few questions, and what planners raise."""
    data = chosen.data
    if settings.limit is not None:
        data = DataSet(data.name, data.items[: settings.limit])
    planners = usual_planners(bench.pool, chosen.planners)
    how = LearningSettings(
        data=data.name, digest=data.digest, use=settings.use, planners=planners, draws=settings.draws,
        plans=settings.plans, seed=settings.seed,
    )  # fmt: skip
    judge = None if settings.judge is None else JudgeSpec(worker=settings.judge)
    spec = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,), judge=judge)
    learning = PlannerLearning(bench, LearningFolder(path, how), data, spec, name=path.name)
    halves = Halves.of(data, held_out=how.held_out, seed=how.seed)
    fit, held_out = len(halves.fit.items), len(halves.held_out.items)
    trials, exam = learning.outlook()
    answers = fit * len(learning.drawers) + held_out * (len(planners) + 1)
    forecast_figures(answers, whole(trials, exam), key="planner-forecast")
    st.caption(
        plain(forecast_words(fit=fit, held_out=held_out, plans=settings.plans, budget=settings.budget))
    )
