"""The results of a trial on data: the variants, and the cheapest workflow that is not worse, to be taken."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.evaluation.report import trials_html
from conductor.evaluation.trials import (
    base_plan,
    cheapest_variant,
    confirmation_words,
    evaluation_trials,
    few_questions,
    tested_on,
)
from conductor.text.formatting import quantity
from conductor.workflow.edits import edit_words
from conductor.workflow.model import Workflow
from pages.components.tab.state import plain
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import scored_cells

Take = Callable[[Workflow, str], None]
"""Makes a workflow the session's newest revision, with that note."""


def trials_region(
    store: SessionStore, record: EvaluationRecord, *, take: Take | None, key: str, done: bool
) -> None:
    """Draw the variants so far, and once all is `done` the suggestion with its button; without `take` the
    suggestion alone. Nothing for an evaluation that is no trial.
    """
    spec = record.spec
    if spec.margin is None:
        return
    trials, base = evaluation_trials(spec, scored_cells(store, record.id)), base_plan(spec)
    best = None if base is None or not done else cheapest_variant(trials, base.workflow).best
    if base is not None and done:
        with st.container(border=True, key=f"{key}-suggestion", gap="small"):
            if best is None:
                st.markdown(
                    f"No variant that takes less was shown to be not worse by more than "
                    f"{100 * spec.margin:g} points. {few_questions(trials)}"
                )
            else:
                workflow = base.with_edits(*best.edits).edited
                difference = best.difference(trials.measure)
                part = "" if difference is None else best.part(difference)
                spared = -(best.change(trials.measure) or 0.0)
                amount = f"{spared:,.0f} tokens" if trials.measure == "tokens" else f"${spared:.4f}"
                st.markdown(
                    f"**Cheapest that is not worse:** {plain(edit_words(best.edits))}. It takes {amount} "
                    f"less a question{part}, with {quantity(len(workflow), 'step')} of {len(base.workflow)}. "
                    f"{plain(confirmation_words(trials))}"
                )
                if take is not None:
                    _take_button(take, workflow, f"Cheapest that is not worse on {spec.data}", key=key)
    with st.container(key=f"{key}-table"):
        st.html(trials_html(trials, best=best))
    st.caption(
        f"Differences from {plain(spec.title_of(trials.base))}, question by question: accuracy in "
        f"percentage points, and tokens. “Not worse” means that the whole interval lies above "
        f"\u2212{100 * spec.margin:g} points. {tested_on(trials)} p is adjusted over the variants (Holm)."
    )


def _take_button(take: Take, workflow: Workflow, note: str, *, key: str) -> None:
    st.button(
        "Use this workflow",
        key=f"{key}-take",
        icon=":material/check:",
        type="primary",
        help="Makes it the session's workflow; undo restores the current one",
        on_click=take,
        args=(workflow, note),
    )
