"""The graphs of two sides, each with what differs marked on its cards and edges. Draws only.

Selecting a step on one side selects it on the other, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from conductor.drawing.layout import KINDS, CardKind, Layout, layouts
from conductor.drawing.network import CardContent, draw
from conductor.workers.protocol import WorkerCard
from conductor.workflow.diff import PlanDiff
from conductor.workflow.model import Workflow
from pages.components.compare.figures import step_differences
from pages.components.graph import workflow_graph
from pages.components.tab.state import plain
from pages.components.view_models.comparable import Side
from pages.components.view_models.run_text import STATE_ICONS, progress_text, run_label, run_state
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.view_models.workflow.heat import run_heat
from pages.components.view_models.workflow.plan_text import Which, card_change, card_text, edge_changes
from pages.components.view_models.workflow.worker_legend import worker_legend
from pages.components.widgets.controls import action, row

_HALF_WIDTH, _LOW = 540, 500
"""Pixels of a side in a window of 1440 by 900, and how high a picture may be to be in sight there."""

Chosen = Callable[[Which, int | None], None]


class Pictures(NamedTuple):
    """Layouts, the best first, and the pixels of width from which on each of them is shown."""

    layouts: tuple[Layout, ...]
    least_widths: tuple[int, ...]


def compared_graph(
    side: Side,
    other: Side,
    diff: PlanDiff,
    which: Which,
    *,
    pictures: Pictures,
    cards: Mapping[str, WorkerCard],
    selected: int | None,
    selection_revision: int,
    on_select: Chosen,
    stop: Callable[[], None] | None,
) -> None:
    """Draw one side's graph, locked, below what its run has taken, with how it differs from the `other`'s;
    `selected` is the step of this side, `stop` stops its run, or is None after its end.
    """
    key = f"compare-graph-{which}-{side.address}"

    def chosen() -> None:
        on_select(which, st.session_state[key].selected["step"])

    with st.container(key=f"compare-title-{which}", gap="xxsmall"):
        _title(side, which, stop)
    marks = with_marks(side, other, diff, which, cards)
    workflow_graph(
        draw(side.workflow, marks, pictures.layouts, changes=edge_changes(diff, which) if diff.pairs else {}),
        pictures.layouts,
        least_widths=pictures.least_widths,
        key=key,
        direction="down",
        selected=selected,
        selection_revision=selection_revision,
        locked=True,
        inspector="compare-steps",
        legend=worker_legend(side.workflow, marks, side.state),
        heats=run_heat(side.workflow, side.state, now=time.time()),
        on_select=chosen,
    )


def _title(side: Side, which: Which, stop: Callable[[], None] | None) -> None:
    """What is drawn, the way to its session, and how far its run is."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(
            f"**{plain(side.name)}** · {plain(side.workflow.topology)} · {plain(side.origin)}",
            width="stretch",
        )
        st.page_link(
            "pages/workbench.py",
            label="Open session",
            icon=":material/account_tree:",
            query_params={"session": side.session.id},
        )
    if side.state is None:
        return
    with row(f"compare-state-{which}"):
        icon, figures = STATE_ICONS[run_state(side.state)], progress_text(side.state, now=time.time())
        st.markdown(f"{icon} **{plain(run_label(side.state))}** · {plain(figures)}", width="content")
        if stop is not None:
            action("Stop", "stop", stop, key=f"compare-stop-{which}", type="tertiary", redraw=False)


def with_marks(
    side: Side, other: Side, diff: PlanDiff, which: Which, cards: Mapping[str, WorkerCard]
) -> tuple[CardContent, ...]:
    """What each card shows of its run, with how that differs from the `other` side's, and with its change.

    The words of the change come last: its mark and the list of steps show it, too. On a card that no model
    answered they are the only text. Plans that share no step differ in all of them: nothing is marked.
    """
    apart = not diff.pairs
    contents = card_contents(side.workflow, run=side.state, radius=None, cards=cards, now=time.time())
    return tuple(
        replace(
            content,
            change="" if apart else card_change(diff, step, which),
            badges=(
                *content.badges,
                *_differences(side, other, diff, step, which),
                *(() if apart else card_text(diff, step, which)),
            ),
            inside="",
        )
        for step, content in enumerate(contents)
    )


def _differences(side: Side, other: Side, diff: PlanDiff, step: int, which: Which) -> tuple[str, ...]:
    """Of a step that is on both sides; what it took more or less is shown on the right alone."""
    pair = (diff.of_old if which == "left" else diff.of_new).get(step)
    if pair is None:
        return ()
    old, new = (side, other) if which == "left" else (other, side)
    words = step_differences(old.step(pair.old), new.step(pair.new))
    return words if which == "right" else tuple(each for each in words if each.endswith("differs"))


def pictures_alike(left: Workflow, right: Workflow, *, low: bool = False) -> tuple[Pictures, Pictures]:
    """The pictures of both, drawn downwards, with the poorer kind of cards wherever theirs would differ.

    `low`: of cards with which both are in sight as a whole, if there are such.
    """
    sides = (left, right)
    of_kind = {kind: [_of_kind(side, kind) for side in sides] for kind in KINDS}
    both = [kind for kind in KINDS if all(of_kind[kind])]
    if low:
        both = [kind for kind in both if all(map(_is_low, of_kind[kind]))] or both[-1:]
    poorest = max(KINDS.index(layouts(side)[-1].kind) for side in sides)
    candidates: list[list[tuple[Layout, int]]] = [[], []]
    for kind in both:
        last = KINDS.index(kind) >= poorest
        widths = [_least_width(side, kind) for side in sides]
        least_widths = [width for width in widths if width is not None]
        if len(least_widths) < len(widths) and not last:
            continue
        least = 0 if last else max(least_widths)
        for at, pictures in enumerate(of_kind[kind]):
            candidates[at] += [(picture, max(least, picture.least_width)) for picture in pictures[:-1]]
            # The narrowest, too, where it has a little less room than it would like: the other side has it.
            candidates[at].append((pictures[-1], least))
        if last:
            break
    first, second = (Pictures(*zip(*side, strict=True)) for side in candidates)
    return first, second


def _is_low(pictures: Sequence[Layout]) -> bool:
    """Whether what is shown in half of a usual window can be seen there as a whole."""
    visible = next((picture for picture in pictures if picture.least_width <= _HALF_WIDTH), pictures[-1])
    return visible.height <= _LOW


def _of_kind(workflow: Workflow, kind: CardKind) -> list[Layout]:
    return [picture for picture in layouts(workflow, kinds=(kind,)) if picture.kind == kind]


def _least_width(workflow: Workflow, kind: CardKind) -> int | None:
    """The least width at which a workflow alone shows as much as cards of this kind; None if at none."""
    rich = KINDS[: KINDS.index(kind) + 1]
    return min((picture.least_width for picture in layouts(workflow) if picture.kind in rich), default=None)
