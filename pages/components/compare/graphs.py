"""The graphs of two sides, each with what differs marked on its cards and edges. Draws only.

Selecting a step on one side selects it on the other, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from conductor.drawing.network import CardContent, draw
from conductor.workers.protocol import WorkerCard
from conductor.workflow.diff import PlanDiff
from pages.components.graph import workflow_graph
from pages.components.tab.state import plain
from pages.components.view_models.card_content import card_contents
from pages.components.view_models.comparable import Side
from pages.components.view_models.compared_layouts import Pictures
from pages.components.view_models.plan_text import Which, card_change, card_text, edge_changes

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


def marked(
    side: Side, diff: PlanDiff, which: Which, cards: Mapping[str, WorkerCard]
) -> tuple[CardContent, ...]:
    """What each card shows of its run, with its change.

    The words of the change come last: its mark and the list of steps show it, too. On a card that no model
    answered they are the only text.
    """
    shown = card_contents(side.workflow, run=side.state, radius=None, cards=cards, now=time.time())
    return tuple(
        replace(
            content,
            change=card_change(diff, step, which),
            badges=(*content.badges, *card_text(diff, step, which)),
            inside="",
        )
        for step, content in enumerate(shown)
    )
