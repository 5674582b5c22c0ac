"""The results of a training: its curves, the table beside the baselines, and plans before and after."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import draw
from conductor.learning.demonstration.contenders import CONDUCTOR, SPLITS, Results
from conductor.learning.demonstration.exam import ExamPlan, PlanPairs, read_pairs
from conductor.learning.demonstration.run_folder import read_metrics
from conductor.learning.demonstration.settings import DemoSettings
from conductor.orchard import orchard_pool
from conductor.planner.local.card import read_card
from conductor.text.formatting import duration, p_value, percent
from conductor.workers.local_model import SHIPPED
from conductor.workers.protocol import WorkerCard
from pages.components.graph import workflow_graph
from pages.components.tab.state import plain
from pages.components.view_models.training_curves import DARK, LIGHT, accuracies, curves
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.widgets.labels import distinct_labels
from studio.learning.training_run import TrainingRun, with_metrics


def curve_charts(run: TrainingRun) -> None:
    """The curves so far, two in a row where there is the room."""
    colours = DARK if st.context.theme.type == "dark" else LIGHT
    with st.container(key="training-curves"):
        for key, chart in curves(run, colours):
            with st.container(key=f"curve-{key}"):
                st.vega_lite_chart(dict(chart), width="stretch", key=f"chart-{key}")


def shipped_region() -> None:
    """How the Conductor that ships was trained, and what it is right about, beside the baselines; nothing
    without its results.
    """
    folder = SHIPPED["orchard"]
    card = read_card(folder)
    if not card.results:
        return
    results = Results.model_validate(card.results)
    st.subheader("The Conductor that ships with the app", anchor=False)
    settings = DemoSettings.model_validate(card.settings)
    curve_charts(with_metrics(folder, settings, read_metrics(folder)))
    st.caption("Curves: its training repeated with the same seed and settings.")
    colours = DARK if st.context.theme.type == "dark" else LIGHT
    st.vega_lite_chart(dict(accuracies(results, colours)), width="stretch", key="chart-shipped")
    st.caption(plain(_changes(results), limit=800))


def results_table(results: Results) -> None:
    """The trained Conductor beside every baseline."""
    st.subheader("Compared with baselines", anchor=False)
    rows = [
        {
            "Planner": row.planner,
            "Right": f"{row.accuracy:.1%}",
            "Steps": "-" if row.steps is None else f"{row.steps:.2f}",
            "Tokens per question": "-" if row.tokens is None else f"{row.tokens:,.0f}",
            "Lead of this Conductor": "" if row.ahead is None else f"{100 * row.ahead:+.1f} points",
            "95% interval": (
                "" if row.between is None else f"{100 * row.between[0]:+.1f} to {100 * row.between[1]:+.1f}"
            ),
            "p (Holm, over all rows)": "" if row.p is None else p_value(row.p),
        }
        for row in results.rows
    ]
    st.dataframe(rows, hide_index=True, key="training-table", width="stretch")
    st.caption(plain(_changes(results), limit=800))


def _changes(results: Results) -> str:
    after = results.row(CONDUCTOR).accuracy
    shares = [
        ("the likeliest plan", results.greedy_before, after),
        ("sampled plans", results.sampled_before, results.sampled),
        *((words, results.before.get(name), getattr(results, name)) for name, words in SPLITS.items()),
    ]
    changes = (
        f"{words} {'' if before is None else f'{percent(before)} → '}{percent(share)}"
        for words, before, share in shares
    )
    facts = [
        f"Right answers, before → after GRPO: {'; '.join(changes)} (at best {percent(results.reachable)}).",
        f"{results.calls:,} worker calls, {results.saved:,} saved by sharing.",
        f"It took {duration(results.seconds)}.",
    ]
    return " ".join(facts)


def plans_before_and_after(folder: Path) -> None:
    """A question's plans side by side; nothing before there are any. Raises `DataError`."""
    exam = read_pairs(folder)
    if exam is None:
        return
    st.subheader("Plans before and after GRPO", anchor=False)
    plan_pair(exam, orchard_pool().cards, of=folder.name)


def plan_pair(
    exam: PlanPairs,
    cards: Mapping[str, WorkerCard],
    *,
    of: str,
    before: str = "Before",
    after: str = "After",
) -> None:
    """Draw the choice of a question and its two plans under these titles; `of` names what learnt."""
    with st.container(key="learning-plans"):
        pairs = dict(enumerate(exam.pairs, 1))
        changed = [at for at, pair in pairs.items() if pair.after and pair.after != pair.before]
        changed.sort(key=lambda at: pairs[at].before.right)
        names = {at: pair.question + (" (changed)" if at in changed else "") for at, pair in pairs.items()}
        at = st.selectbox(
            "Question",
            list(pairs),
            index=changed[0] - 1 if changed else 0,
            key=f"plans-question-{of}",
            format_func=distinct_labels(names),
        )
        pair = pairs[at]
        st.caption(plain(f"Right is: {pair.answer}"))
        left, right = st.columns(2, gap="small")
        with left:
            _planned(before, pair.before, cards, key=f"plan-before-{at}")
        with right:
            if pair.after is None:
                st.markdown(f"**{plain(after)}**")
                st.caption("Planned when the training ends.")
            else:
                _planned(after, pair.after, cards, key=f"plan-after-{at}")


def _planned(title: str, planned: ExamPlan, cards: Mapping[str, WorkerCard], *, key: str) -> None:
    icon = ":material/check:" if planned.right else ":material/close:"
    answer = planned.answer or "no answer"
    st.markdown(f"**{title}** · {icon} {plain(answer, limit=120)}")
    if planned.workflow is None:
        st.caption("No valid plan.")
        return
    pictures = layouts(planned.workflow)
    contents = card_contents(planned.workflow, run=None, radius=None, cards=cards, now=time.time())
    workflow_graph(
        draw(planned.workflow, contents, pictures),
        pictures,
        key=key,
        direction="down",
        selected=None,
        selection_revision=0,
        locked=True,
        editable=False,
        inspector="learning-plans",
    )
