"""A new planner for the pool: from which questions it learns, how, and what that takes before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import streamlit as st

from conductor.baselines.planner_file.planner_file import Learner
from conductor.errors import ConductorError, DataError
from conductor.evaluation.items import DataSet
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, JudgeSpec
from conductor.workers.pool.built_in import BUILT_IN, from_any_folder
from conductor.workers.pool.pool import configured_path
from pages.components.learning.planner_runs import PLACE, open_planner
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.planner_learning import METHODS, forecast_words, whole
from pages.components.widgets.budget_fields import budget_fields, forecast_figures
from pages.components.widgets.controls import action
from pages.components.widgets.question_choice import (
    Chosen,
    chosen_questions,
    code_consent,
    judge_choice,
    needs,
)
from studio.evaluation.planner_learning.learning_folder import (
    PLANS,
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

_DRAWS = LearningSettings.model_fields["draws"].default
_PLANS_LABELS: Mapping[Learner, str] = {"examples": "Best plans", "search": "Plans", "reflect": "Best plans"}
_PLANS_HELP: Mapping[Learner, str] = {
    "examples": "How many of the plans that were right are tried on all questions",
    "search": "How many plans are made by edits; most of them answer one question",
    "reflect": "How many of the plans that were right are tried on all questions",
}
_NAME = "mine"


def new_planner(shared: Services) -> None:
    """Draw the form; *Learn* begins, and opens the learning."""
    chosen = chosen_questions(shared.workbench.store)
    if chosen is None:
        return
    pool = chosen.pool
    if pool is not None and {each.card.name for each in BUILT_IN[pool]()} <= set(shared.workbench.pool.names):
        pool = None  # this pool has all of its workers
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
        reads_prompt = usual_use(bench) == "prompt"
        titles = {each.title: each for each in METHODS if reads_prompt or not each.reads_prompt}
        usual = next(title for title, each in titles.items() if each.reads_prompt == reads_prompt)
        title = st.selectbox(
            "Method", list(titles), index=list(titles).index(usual), key="planner-use", width=320,
        )  # fmt: skip
        budget = budget_fields("planner")
    method = titles[title]
    st.caption(method.sentence)
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
            _PLANS_LABELS[method.learner], min_value=0, max_value=10_000, value=PLANS[method.learner],
            key=f"planner-plans-{method.learner}", width=130, help=_PLANS_HELP[method.learner],
        )  # fmt: skip
        reflector = None if method.learner != "reflect" else _reflector(bench)
        seed = st.number_input("Seed", min_value=0, value=0, key="planner-seed", width=105)
    judge = judge_choice(chosen.data, bench.pool)
    return name, PlannerSettings(
        data=chosen.shipped or chosen.data.name,
        pool=pool or (None if own is None else str(from_any_folder(own))),
        method=method.learner,
        reflector=reflector,
        use=method.use,
        draws=int(draws),
        plans=int(plans),
        limit=None if limit is None else int(limit),
        seed=int(seed),
        judge=judge,
        allow_code=code_consent(chosen.data),
        budget=budget,
    )


def _reflector(bench: Workbench) -> str | None:
    """The worker that reflects; None: the model that plans."""
    models = [name for name, card in bench.pool.cards.items() if card.kind in ("model", "embedded")]
    reflector: str | None = st.selectbox(
        "Reflector", models, index=None, key="planner-reflector", width=180, placeholder="The Conductor",
        help="The model that reads what went wrong",
    )  # fmt: skip
    return reflector


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
        data=data.name, digest=data.digest, method=settings.method, reflector=settings.reflector,
        use=settings.use, planners=planners, draws=settings.draws, plans=settings.plans, seed=settings.seed,
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
        plain(
            forecast_words(
                fit=fit,
                held_out=held_out,
                between=learning.between if settings.plans else "",
                budget=settings.budget,
            ),
            limit=600,
        )
    )
