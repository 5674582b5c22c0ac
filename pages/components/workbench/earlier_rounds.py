"""Earlier rounds above the current one: each a line that opens to its graph and its steps' outputs."""

from __future__ import annotations

import time

import streamlit as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import draw
from conductor.report.words import STATUSES
from conductor.runs.state import RunState
from conductor.text.formatting import counted, dollars, duration, tokens
from pages.components.graph import workflow_graph
from pages.components.tab.state import TabState, plain
from pages.components.view_models.answer_notes import said_by
from pages.components.view_models.card_content import card_contents, step_name
from pages.components.widgets.text_block import text_block
from storage import Revision
from studio.workbench import Workbench

_FIRST_WORDS = 60


def earlier_rounds(bench: Workbench, tab: TabState, session: str) -> None:
    """Draw them, oldest first; only what is open is drawn whole."""
    for revision, state in bench.planning.rounds(session):
        box = st.expander(
            plain(round_line(revision, state), limit=260),
            icon=":material/layers:",
            key=f"round-{state.run}",
            on_change="rerun",
        )
        if box.open:
            with box:
                _round(bench, tab, revision, state)


def round_line(revision: Revision, state: RunState) -> str:
    """A round in one line: number, topology, steps, the answer's first words, tokens, cost, time."""
    workflow = revision.workflow
    parts = [f"Round {state.round}", workflow.topology, counted(len(workflow), "step")]
    if state.answer is not None:
        words = " ".join(state.answer[: _FIRST_WORDS * 2].split())
        parts.append(f"“{words[:_FIRST_WORDS]}{'…' if len(words) > _FIRST_WORDS else ''}”")
    parts.append(tokens(state.usage.total))
    if state.usage.cost is not None:
        parts.append(dollars(state.usage.cost))
    if state.seconds is not None:
        parts.append(duration(state.seconds))
    return " · ".join(parts)


def _round(bench: Workbench, tab: TabState, revision: Revision, state: RunState) -> None:
    workflow = revision.workflow
    pictures = layouts(workflow, direction=tab.direction)
    shown = card_contents(workflow, run=state, radius=None, cards=bench.pool.cards, now=time.time())
    outputs = f"round-outputs-{state.run}"
    workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=f"round-graph-{state.run}",
        direction=tab.direction,
        selected=None,
        selection_revision=0,
        locked=True,
        inspector=outputs,
    )
    with st.container(key=outputs, gap="small"):
        for at, step in enumerate(state.steps):
            name = step_name(workflow, at)
            if not step.text:
                st.caption(plain(f"{name}: {step.message or STATUSES[step.status]}"))
                continue
            text_block(
                step.text,
                key=f"round-output-{state.run}-{at}",
                label=name,
                notes=[*said_by(workflow.steps[at].worker, step), *_answer_note(state, at)],
                height=160,
            )


def _answer_note(state: RunState, step: int) -> list[str]:
    return [f"answer of round {state.round}"] if step == state.answer_step else []
