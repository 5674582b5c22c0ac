"""The results of an experiment: the answers of a swap side by side, or the effect of each edge left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from conductor.engine.experiments import Edge, EdgeVerdict, Swap, edge_verdicts
from conductor.report.words import STATUSES
from conductor.runs.step_state import StepState
from conductor.text.formatting import quantity
from conductor.workflow.model import Workflow
from pages.components.tab.state import plain
from pages.components.view_models.run_text import author_notes, run_label
from pages.components.view_models.session import Results
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, compare_page_link, expander, row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_result import silence_lines, step_facts
from pages.components.widgets.text_diff import text_diff
from pages.components.workbench.editor import Editor

_IN_A_ROW = 3


def swap_results(results: Results, swap: Swap, *, editor: Editor | None) -> None:
    """One column a worker, the one of the plan first, as it answered in the run that is compared with."""
    base = results.base.steps[swap.step]
    own = results.base.workflow.steps[swap.step].worker if results.base.workflow is not None else ""
    columns = [_Column(own, [base], in_plan=True)]
    for worker in dict.fromkeys(swap.workers):
        places = [at for at, trial in enumerate(results.trials) if trial.worker == worker]
        states = [results.states[at] for at in places if at in results.states]
        # One without events yet, or interrupted before the first, has no steps.
        columns.append(_Column(worker, [state.steps[swap.step] for state in states if state.steps]))
    for start in range(0, len(columns), _IN_A_ROW):
        row = columns[start : start + _IN_A_ROW]
        for place, column in zip(st.columns(_IN_A_ROW), row, strict=False):
            with place:
                _column(results, swap, column, base=base, editor=editor)


class _Column(NamedTuple):
    worker: str
    states: Sequence[StepState]
    in_plan: bool = False


def _column(results: Results, swap: Swap, column: _Column, *, base: StepState, editor: Editor | None) -> None:
    key = f"swap-{results.record.id}-{'base' if column.in_plan else column.worker}"
    with row(f"swap-head-{key}"):
        st.markdown(f"**{plain(column.worker)}**")
        if column.in_plan:
            st.badge("in the plan", icon=":material/account_tree:", color="gray")
        elif editor is not None and any(state.output is not None for state in column.states):
            tip = f"Give step {swap.step + 1} to this worker; its answer is reused"
            action("Keep", "check", editor.keep_worker, swap.step, column.worker, key=f"keep-{key}", help=tip)
    if not column.states:
        st.caption("Waiting for its turn." if results.live else "Not run.")
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
        rendered_text(
            state.text,
            key=key,
            label=f"Answer {number}" if number else "Answer",
            notes=[*author_notes(worker, state)[1:], *(["the same as in the plan"] if same else [])],
            live=state.status == "running",
            waiting=silence_lines(state),
            height=260,
        )
    elif state.done and not state.message:
        ended = "gave an empty answer" if state.status == "empty" else STATUSES[state.status]
        st.caption(f"{ended.capitalize()}.")
    if facts := step_facts(state):
        st.caption(plain(" · ".join(facts)))


def edge_results(results: Results, *, editor: Editor | None) -> None:
    """One row an edge; the answers it gave are shown on demand."""
    workflow, answer = results.base.workflow, results.base.answer
    if workflow is None or answer is None:
        return
    verdicts = edge_verdicts(answer, results.trials, results.states)
    if not results.live and not any(verdict.pending or verdict.broken for verdict in verdicts):
        st.markdown(plain(_summary(verdicts)))
    for verdict in verdicts:
        _verdict(results, workflow, answer, verdict, editor=editor)


def _summary(verdicts: tuple[EdgeVerdict, ...]) -> str:
    tested = [verdict for verdict in verdicts if verdict.edge is not None]
    idle = [verdict for verdict in tested if not verdict.matters]
    if not idle:
        subject = "Whichever edge is removed" if len(tested) > 1 else "If it is removed"
        sentence = f"{subject}, the answer changes"
    elif len(idle) == len(tested):
        sentence = "The answer stays exactly the same, whichever edge is removed"
    else:
        names = ", ".join(edge_name(verdict.edge) for verdict in idle if verdict.edge is not None)
        sentence = f"The answer stays the same without {names}"
    control = next((verdict for verdict in verdicts if verdict.edge is None), None)
    if control is None or not control.changes:
        chance = "Use repeats to see whether that is more than chance."
        return f"{sentence}." if len(idle) == len(tested) else f"{sentence}. {chance}"
    beyond = ", ".join(edge_name(each.edge) for each in tested if each.edge and each.beyond_noise)
    return (
        f"{sentence}. Even without a change it varies by up to {max(control.changes):.0%}. "
        f"Changes beyond that: {beyond or 'none'}."
    )


def edge_name(edge: Edge) -> str:
    """An edge by its two steps."""
    return f"{edge[0] + 1} → {edge[1] + 1}"


def _verdict(
    results: Results, workflow: Workflow, answer: str, verdict: EdgeVerdict, *, editor: Editor | None
) -> None:
    edge = verdict.edge
    key = f"edge-{results.record.id}-{'control' if edge is None else f'{edge[0]}-{edge[1]}'}"
    label = plain(f"{_edge_title(workflow, edge)}: {verdict_text(verdict)}", limit=300)
    box = expander(label, _icon(verdict), key=key)
    if box is None:
        return
    with box:
        for at, trial in enumerate(results.trials):
            state = results.states.get(at)
            if trial.edge != edge or state is None:
                continue
            if state.answer is not None:
                text_diff(
                    answer,
                    state.answer,
                    key=f"{key}-{at}",
                    label=f"Answer {trial.repeat}",
                    context=200,
                    height=240,
                )
            elif not state.live:
                failed = next((step.message for step in state.steps if step.message), run_label(state))
                st.caption(plain(f"Run {trial.repeat} gave no answer: {failed}"))
        _ways_on(results, verdict, key=key, editor=editor)


def _ways_on(results: Results, verdict: EdgeVerdict, *, key: str, editor: Editor | None) -> None:
    edge = verdict.edge
    runs = [results.states.get(at) for at, trial in enumerate(results.trials) if trial.edge == edge]
    first = next((state for state in runs if state is not None), None)
    with row():
        if editor is not None and edge is not None and edge[0] in editor.workflow.steps[edge[1]].access:
            read, reader = edge
            action(
                "Remove this edge",
                "link_off",
                partial(editor.access, reader, lose=[read]),
                key=f"remove-{key}",
                help=f"Step {reader + 1} stops reading step {read + 1}; undo restores it",
            )
        if first is not None and not first.live:
            compare_page_link(f"run:{results.base.run}", f"run:{first.run}", label="Compare the runs")


def _edge_title(workflow: Workflow, edge: Edge | None) -> str:
    if edge is None:
        return "Control: no edge removed"
    read, reader = (step_name(workflow, step) for step in edge)
    return f"{edge_name(edge)} ({read} for {reader})"


def verdict_text(verdict: EdgeVerdict) -> str:
    """A verdict in words; nothing about noise where it is unknown."""
    if verdict.change is None and not verdict.lost:
        return "stopped early, no result" if verdict.broken else "waiting for its answer"
    parts = []
    if verdict.changes:
        parts.append(_changed(verdict))
    if verdict.lost:
        parts.append(f"{quantity(verdict.lost, 'run')} without an answer")
    if verdict.pending:
        parts.append(f"{verdict.pending} pending")
    if verdict.broken:
        parts.append(f"{verdict.broken} stopped early")
    if verdict.beyond_noise is not None:
        parts.append("more than the noise" if verdict.beyond_noise else "not more than the noise")
    return ", ".join(parts)


def _changed(verdict: EdgeVerdict) -> str:
    others = sum(change > 0 for change in verdict.changes)
    if not others:
        return "the same answer" if len(verdict.changes) == 1 else "the same answer each time"
    if len(verdict.changes) == 1:
        return f"{verdict.changes[0]:.0%} of the answer differs"
    low, high = min(verdict.changes), max(verdict.changes)
    runs = quantity(len(verdict.changes), "run")
    return f"{verdict.change:.0%} of the answer differs ({low:.0%} to {high:.0%}, {runs})"


def _icon(verdict: EdgeVerdict) -> str:
    if verdict.change is None and not verdict.lost:
        return "schedule"
    return "difference" if verdict.matters else "check"
