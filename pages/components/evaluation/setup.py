"""A new evaluation: which planners answer the questions, how, and what that will take before it starts."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.baselines.methods import BASELINES
from conductor.baselines.named import PREFIX, WORKER
from conductor.errors import ConductorError
from conductor.evaluation.items import DataSet
from conductor.evaluation.report import planner_name
from conductor.evaluation.report.remarks import power
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, JudgeSpec
from conductor.text.formatting import dollars, named, quantity
from conductor.values.presets import MAX_ROUNDS, Settings
from pages.components.evaluation.listing import PLACE, open_evaluation
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.widgets.budget_fields import budget_fields, forecast_figures
from pages.components.widgets.controls import action
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.question_choice import (
    Chosen,
    chosen_questions,
    code_consent,
    judge_choice,
    needs,
)
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.outlook import EvaluationOutlook, outlook
from studio.workbench import Workbench

DEMO = "demo"
"""The shipped set that an empty store offers."""

_RULES = ("rules", "Rules", "The built-in planner: plans by rules, calls no model.")


def new_evaluation(shared: Services) -> None:
    """Draw the form; *Start* opens the evaluation that it begins."""
    tab = TabState()
    st.subheader("Questions", anchor=False)
    chosen = chosen_questions(shared.workbench.store)
    if chosen is None:
        return
    data, bench = chosen.data, shared.evaluations.on(chosen.pool)
    st.subheader("Planners", anchor=False)
    if chosen.pool is not None:
        st.caption(plain(f"On the built-in pool “{chosen.pool}”, which needs no key."))
    planners = _planners(bench, chosen)
    st.subheader("How", anchor=False)
    judge = judge_choice(data, bench.pool)
    spec, limit = _settings(data, planners)
    if limit is not None:
        data = DataSet(data.name, data.items[:limit], data.broken)
    if judge is not None and needs(data, "judge"):
        spec = spec.model_copy(update={"judge": JudgeSpec(worker=judge)})
    tab.show_notice(PLACE)
    if not planners:
        st.caption("Choose at least one planner.")
        return
    try:
        _forecast(outlook(
            bench, data.items, planners, spec.settings,
            repeats=spec.repeats, parallel=spec.parallel, judge=judge,
        ), data, spec)  # fmt: skip
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    without_leave = needs(data, "code") and not spec.allow_code
    without_judge = needs(data, "judge") and judge is None
    action(
        "Start", "play_arrow", _start, shared, bench, data, planners, spec, key="evaluation-start",
        type="primary", disabled=without_leave or without_judge, place=PLACE,
    )  # fmt: skip


def run_demo(shared: Services) -> None:
    """Begin the evaluation of the shipped set that is made for it, and open it."""
    shipped = SHIPPED[DEMO]
    spec = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,))
    bench = shared.evaluations.on(shipped.pool)
    _start(shared, bench, shipped.read(), shipped.planners or (CONDUCTOR,), spec)


def _start(
    shared: Services, bench: Workbench, data: DataSet, planners: Sequence[str], spec: EvaluationSpec
) -> None:
    if TabState().pressed_again("evaluation-start"):
        return
    record = Evaluations(bench).add(data, planners, spec)
    shared.evaluations.begin(record.id)
    open_evaluation(record.id)


# -- planners --------------------------------------------------------------------------------------


def _planners(bench: Workbench, questions: Chosen) -> tuple[str, ...]:
    """The chosen planners' names, the one that the others are compared with first."""
    with st.container(key="evaluation-planners", gap="xsmall"):
        chosen = _picked(bench)
    # The shipped planners but those that are ticked already; with a key of its own for each set.
    suggested = [each for each in questions.planners or () if each.startswith(PREFIX)]
    others, reference = st.columns(2, gap="small")
    more = others.text_input(
        "More planners by name",
        ", ".join(suggested),
        key=f"plan-more-{questions.data.name}" if suggested else "plan-more",
        placeholder="baseline:moa:layers=2, plan:SESSION",
        help="Separate with spaces: a baseline with its options, a fitted one, or a session's workflow",
    )
    names = list(dict.fromkeys([*chosen, *more.replace(", ", " ").split()]))
    if len(names) > 1:
        first = reference.selectbox(
            "Compared with", names, key="plan-first", help="The planner that the others are compared with",
            format_func=distinct_labels({name: planner_name(name) for name in names}),
        )  # fmt: skip
        names.sort(key=lambda name: name != first)
    return tuple(names)


def _picked(bench: Workbench) -> list[str]:
    """The planners that are ticked, in the order of the list."""
    workers, card = bench.pool.names, bench.conductor.card
    chosen = []
    if st.checkbox(f"**Conductor** · {plain(card.name)}", value=True, key="plan-conductor"):
        chosen.append(CONDUCTOR)
    label = f"**Each worker alone** · {plain(named(workers))}; needed for the perfect router"
    if st.checkbox(label, value=True, key="plan-workers"):
        chosen += [f"{WORKER}{name}" for name in workers]
    else:
        alone = st.multiselect("Single workers", workers, key="plan-some-workers")
        chosen += [f"{WORKER}{name}" for name in alone]
    for kind, title, about, one_worker in _baselines(rules=card.kind != "offline"):
        with st.container(horizontal=True, vertical_alignment="center", key=f"plan-row-{kind}"):
            picked = st.checkbox(f"**{plain(title)}** · {plain(about)}", key=f"plan-{kind}", width="content")
            name = f"{PREFIX}{kind}"
            if picked and one_worker:
                label, key = f"Worker of {title}", f"plan-{kind}-worker"
                worker = st.selectbox(label, workers, key=key, label_visibility="collapsed", width=220)
                name = f"{name}:{worker}"
            if picked:
                chosen.append(name)
    return chosen


def _baselines(*, rules: bool) -> list[tuple[str, str, str, bool]]:
    """Name, title, sentence, and whether it needs a worker; those that learn are chosen by name, and `rules`
    are left out where they are the Conductor.
    """
    plainly = [
        (kind, entry.label, entry.about, entry.one_worker)
        for kind, entry in BASELINES.items()
        if kind != WORKER.removesuffix(":") and entry.method is not None
    ]
    return [*plainly, *([(*_RULES, False)] if rules else [])]


# -- how -------------------------------------------------------------------------------------------


def _settings(data: DataSet, planners: Sequence[str]) -> tuple[EvaluationSpec, int | None]:
    """How it is done, and how many of the questions are taken; None: all."""
    with st.container(horizontal=True, gap="small", key="evaluation-how"):
        limit = st.number_input(
            "Questions", min_value=1, max_value=len(data.items), value=None, key="how-limit", width=120,
            placeholder=f"All {len(data.items):,}", help="Ask only the first ones",
        )  # fmt: skip
        repeats = st.number_input(
            "Repeats", min_value=1, max_value=100, value=1, key="how-repeats", width=105
        )
        parallel = st.number_input(
            "In parallel", min_value=1, max_value=64, value=4, key="how-parallel", width=105,
            help="Questions answered at the same time",
        )  # fmt: skip
        rounds = st.number_input(
            "Rounds", min_value=1, max_value=MAX_ROUNDS, value=1, key="how-rounds", width=105,
            help="How often the Conductor may plan, reviewing its answer in between",
        )  # fmt: skip
        seed = st.number_input(
            "Seed", min_value=0, value=0, key="how-seed", width=105, help="Fixes the order of the choices"
        )
        budget = budget_fields("how")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="evaluation-more"):
        tags = st.text_input(
            "Tags",
            key="how-tags",
            width=320,
            placeholder="nightly, gpt-5",
            help="Separate with commas",
        )
        sequential = st.checkbox(
            "Stop once every difference is significant", key="how-sequential",
            help="A sequential test against the first planner; it detects less than a table of fixed size",
        )  # fmt: skip
    spec = EvaluationSpec(
        data="",
        digest="",
        planners=tuple(planners) or (CONDUCTOR,),
        repeats=int(repeats),
        seed=int(seed),
        parallel=int(parallel),
        settings=Settings(rounds=int(rounds), budget=budget),
        allow_code=code_consent(data),
        sequential=sequential,
        tags=tuple(tag[:60] for tag in tags.split(",") if tag.strip()),
    )
    return spec, None if limit is None else int(limit)


# -- the forecast ----------------------------------------------------------------------------------


def _forecast(forecast: EvaluationOutlook, data: DataSet, spec: EvaluationSpec) -> None:
    answers = len(data.items) * len(spec.planners) * spec.repeats
    forecast_figures(answers, forecast, key="evaluation-forecast")
    notes = []
    if len(spec.planners) > 1:
        notes.append(power(len(data.items), comparisons=len(spec.planners) - 1))
    notes += forecast.remarks
    budget = spec.settings.budget
    if not budget.open:
        limits = [
            *([] if budget.cost is None else [dollars(budget.cost)]),
            *([] if budget.tokens is None else [quantity(budget.tokens, "token")]),
        ]
        notes.append(f"It stops at {' or '.join(limits)}.")
    st.caption(plain(" ".join(notes)))
