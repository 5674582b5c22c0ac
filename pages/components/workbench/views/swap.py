"""A swap's answers side by side: who answered the same question how, at what price."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.engine.experiments import Swap
from conductor.report.words import STATUSES
from conductor.runs.step_state import StepState
from pages.components.tab.state import plain
from pages.components.view_models.answer_notes import said_by
from pages.components.view_models.experiment_results import Results
from pages.components.widgets.step_result import silence, step_facts
from pages.components.widgets.text_block import text_block
from pages.components.workbench.editing.editor import Editor

_IN_A_ROW = 3


def swap_results(results: Results, swap: Swap, *, editor: Editor | None) -> None:
    """One column a worker, the one of the plan first, as it answered in the run that is compared with."""
    base = results.base.steps[swap.step]
    own = results.base.workflow.steps[swap.step].worker if results.base.workflow is not None else ""
    columns = [_Column(own, [base], in_plan=True)]
    for worker in dict.fromkeys(swap.workers):
        places = [at for at, trial in enumerate(results.trials) if trial.worker == worker]
        begun = [results.states[at] for at in places if at in results.states]
        # One without events yet, or interrupted before the first, has no steps.
        columns.append(_Column(worker, [state.steps[swap.step] for state in begun if state.steps]))
    for start in range(0, len(columns), _IN_A_ROW):
        row = columns[start : start + _IN_A_ROW]
        for place, column in zip(st.columns(_IN_A_ROW), row, strict=False):
            with place:
                _column(results, swap, column, base=base, editor=editor)


class _Column:
    def __init__(self, worker: str, states: Sequence[StepState], *, in_plan: bool = False) -> None:
        self.worker, self.states, self.in_plan = worker, states, in_plan


def _column(results: Results, swap: Swap, column: _Column, *, base: StepState, editor: Editor | None) -> None:
    key = f"swap-{results.record.id}-{'base' if column.in_plan else column.worker}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"swap-head-{key}"):
        st.markdown(f"**{plain(column.worker)}**")
        if column.in_plan:
            st.badge("in the plan", icon=":material/account_tree:", color="gray")
        elif editor is not None and any(state.output is not None for state in column.states):
            st.button(
                "Keep",
                key=f"keep-{key}",
                icon=":material/check:",
                help=f"Give step {swap.step + 1} to this worker; its answer is known and not asked for again",
                on_click=_keep,
                args=(editor, swap.step, column.worker),
            )
    if not column.states:
        st.caption("Waits for its turn." if results.live else "Was not run.")
    for repeat, state in enumerate(column.states, start=1):
        _answer(
            state,
            column.worker,
            key=f"{key}-{repeat}",
            number=repeat if len(column.states) > 1 else None,
            same=not column.in_plan and state.done and state.text == base.text,
        )


def _answer(state: StepState, worker: str, *, key: str, number: int | None, same: bool) -> None:
    if state.message:
        st.error(plain(state.message), icon=":material/error:")
    if state.text or state.status == "running":
        text_block(
            state.text or f"{silence(state).capitalize()}…",
            key=key,
            label=f"Answer {number}" if number else "Answer",
            notes=[*said_by(worker, state)[1:], *(["the same as in the plan"] if same else [])],
            live=state.status == "running",
            height=260,
        )
    elif state.done and not state.message:
        ended = "gave an empty answer" if state.status == "empty" else STATUSES[state.status]
        st.caption(f"{ended.capitalize()}.")
    if facts := step_facts(state):
        st.caption(plain(" · ".join(facts)))


def _keep(editor: Editor, step: int, worker: str) -> None:
    editor.keep_worker(step, worker)
    editor.tab.ask_redraw()
