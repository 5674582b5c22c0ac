"""The steps of two sides, one line each, that opens to what differs. Only what is open is drawn whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from conductor.report.words import STATUSES
from conductor.runs.step_state import StepState
from conductor.workflow.diff import PlanDiff
from pages.components.tab.state import plain
from pages.components.view_models.comparable import Side
from pages.components.view_models.run_text import author_notes, kind_notes
from pages.components.view_models.workflow.plan_text import row_name, row_text, sentences
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import step_facts
from pages.components.widgets.text_block import text_block
from pages.components.widgets.text_diff import text_diff

Row = tuple[int | None, int | None]

_ICONS = {"added": "add", "removed": "remove"}


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides and how the plan of the right one differs from the left one's."""

    left: Side
    right: Side
    diff: PlanDiff

    def states(self, row: Row) -> tuple[StepState | None, StepState | None]:
        """What came of a row's step on each side, or None if it is not there or was not run."""
        old, new = row
        return self.left.step(old), self.right.step(new)

    def output_differs(self, row: Row) -> bool:
        """Whether a step that is on both sides, and was run on both, gave different outputs."""
        left, right = self.states(row)
        return left is not None and right is not None and left.text != right.text

    def words(self, row: Row) -> tuple[str, ...]:
        """What differs in a row, in a word or few each; empty where nothing does."""
        return (*row_text(self.diff, row), *(["output"] if self.output_differs(row) else []))


def step_status(state: StepState) -> str:
    """What came of a step, in a word."""
    return state.reuse or state.kept_because or STATUSES[state.status]


def row_key(compared: Compared, row: Row) -> str:
    """The key under which the page remembers whether a row is open."""
    return f"compare-row-{compared.left.address}-{compared.right.address}-{row[0]}-{row[1]}"


def compared_steps(compared: Compared, rows: Sequence[Row]) -> None:
    for row in rows:
        words = compared.words(row)
        # Of several changes the first decides; a step that only moved is the same one.
        icon = _ICONS.get(words[0], "edit") if words else "equal"
        if words == ("moved",):
            icon = "swap_vert"
        box = st.expander(
            plain(" · ".join([row_name(compared.diff, row), ", ".join(words) or "the same"]), limit=200),
            icon=f":material/{icon}:",
            key=row_key(compared, row),
            on_change="rerun",
        )
        if box.open:
            with box:
                _row(compared, row)


def _row(compared: Compared, row: Row) -> None:
    old, new = row
    key = row_key(compared, row)
    if old is None or new is None:
        side, step = (compared.right, new) if old is None else (compared.left, old)
        assert step is not None, "a row has a step"
        own, state = side.workflow.steps[step], side.step(step)
        text_block(
            own.instruction, key=f"{key}-instruction", label="Instruction", notes=[own.worker], height=240
        )
        if state is not None and state.text:
            notes = author_notes(own.worker, state)
            rendered_text(state.text, key=f"{key}-output", label="Output", notes=notes, height=320)
        return
    pair = compared.diff.of_new[new]
    for sentence in sentences(compared.diff, pair):
        st.markdown(plain(sentence))
    before, after = compared.left.workflow.steps[old], compared.right.workflow.steps[new]
    text_diff(
        before.instruction, after.instruction, key=f"{key}-instruction", label="Instruction", height=240
    )
    left, right = compared.states(row)
    if left is None or right is None:
        if compared.left.state is not None or compared.right.state is not None:
            st.caption("Outputs are compared only between two runs.")
    elif left.text or right.text:
        text_diff(left.text, right.text, key=f"{key}-output", label="Output", height=320)
    _facts(compared, (before.worker, after.worker), (left, right))


def _facts(
    compared: Compared, workers: tuple[str, str], states: tuple[StepState | None, StepState | None]
) -> None:
    """What the step took on each side that ran it."""
    lines = []
    for side, worker, state in zip((compared.left, compared.right), workers, states, strict=True):
        if state is not None:
            who = [note for note in author_notes(worker, state) if note not in kind_notes(state.worker_kind)]
            facts = [side.name, *who, step_status(state), *step_facts(state)]
            lines.append(plain(" · ".join(facts)))
    if lines:
        st.caption("  \n".join(lines))
