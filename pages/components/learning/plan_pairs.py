"""A question's plans side by side: what was planned before learning and after it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import streamlit as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import draw
from conductor.learning.demonstration.exam import ExamPlan, PlanPairs
from conductor.workers.protocol import WorkerCard
from pages.components.graph import workflow_graph
from pages.components.tab.state import plain
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.widgets.labels import distinct_labels


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
