"""The graphs of two sides, each with what differs marked on its cards and edges. Draws only.

Selecting a step on one side selects it on the other, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from conductor.drawing import CardFace, draw
from conductor.plan_diff import PlanDiff
from conductor.workers.protocol import WorkerCard
from pages.components.compared_pictures import Pictures
from pages.components.faces import faces
from pages.components.graph import workflow_graph
from pages.components.plan_words import Which, card_change, card_words, edge_changes
from pages.components.sides import Side
from pages.components.state import plain

Chosen = Callable[[Which, int | None], None]


def compared_graph(
    side: Side,
    diff: PlanDiff,
    which: Which,
    *,
    pictures: Pictures,
    cards: Mapping[str, WorkerCard],
    selected: int | None,
    selection_revision: int,
    on_select: Chosen,
) -> None:
    """Draw one side's graph, locked; `selected` is the step of this side."""
    key = f"compare-graph-{which}-{side.address}"

    def chosen() -> None:
        on_select(which, st.session_state[key].selected["step"])

    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"**{plain(side.name)}** · {plain(side.workflow.topology)}", width="content")
        st.page_link(
            "pages/workbench.py",
            label="Open session",
            icon=":material/account_tree:",
            query_params={"session": side.session.id},
        )
    marks = marked(side, diff, which, cards)
    workflow_graph(
        draw(side.workflow, marks, pictures.layouts, changes=edge_changes(diff, which)),
        pictures.layouts,
        least_widths=pictures.least_widths,
        key=key,
        direction="down",
        selected=selected,
        selection_revision=selection_revision,
        locked=True,
        inspector="compare-steps",
        on_select=chosen,
    )


def marked(side: Side, diff: PlanDiff, which: Which, cards: Mapping[str, WorkerCard]) -> tuple[CardFace, ...]:
    """What each card shows of its run, with its change.

    The words of the change come last: its mark and the list of steps tell it, too, and nothing else tells
    on a card that no model answered.
    """
    shown = faces(side.workflow, run=side.state, radius=None, cards=cards, now=time.time())
    return tuple(
        replace(
            face,
            change=card_change(diff, step, which),
            badges=(*face.badges, *card_words(diff, step, which)),
            inside="",
        )
        for step, face in enumerate(shown)
    )
