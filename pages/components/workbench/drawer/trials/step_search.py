"""The search for the step that spoiled an answer: its form, and the steps ranked by what it showed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

import streamlit as st
from pydantic import ValidationError
from streamlit.delta_generator import DeltaGenerator

from conductor.engine.experiments import Replacement, StepSearch, steps_to_replace
from conductor.engine.step_verdicts import StepVerdict, found_words, step_verdicts
from conductor.evaluation.scorers.accepted_answer import accepted_of
from conductor.values.accepted import Accepted, Check
from conductor.values.output import HandEdit
from conductor.workflow.model import Workflow
from pages.components.tab.state import plain
from pages.components.view_models.run_text import run_label
from pages.components.view_models.session import Results, SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, compare_page_link, expander, row
from pages.components.widgets.labels import distinct_labels
from pages.components.widgets.text_diff import text_diff
from pages.components.workbench.editor import Editor
from studio.evaluation.asked_item import asked_item
from studio.workbench import Workbench

_CHECKS: Mapping[Check, str] = {
    "contains": "contains it",
    "exact": "is it",
    "number": "is its number",
    "flexible": "is within 1 % of it",
    "choice": "names that choice",
    "mathematics": "is the same formula",
}


def repeats_field(place: DeltaGenerator, kind: str) -> int:
    """How often each variant is run."""
    return int(
        place.number_input(
            "Repeats",
            min_value=1,
            max_value=9,
            value=1,
            key=f"repeats-{kind}",
            help="Use more than one if the worker's answers vary",
        )
    )


def new_search(bench: Workbench, view: SessionView, workflow: Workflow) -> StepSearch | None:
    """The form of a search; None while there is no accepted answer or nothing to replace."""
    st.caption(
        "Replaces one step's output at a time, by another worker's or by one you know is right, and "
        "reruns what follows. The steps are ranked by whether the answer becomes right."
    )
    session = view.session.id
    left, middle, right = st.columns([3, 2, 1])
    accepted = _accepted(bench, session, left, middle)
    repeats = repeats_field(right, "steps")
    steps = steps_to_replace(workflow)
    left, middle, right = st.columns(3)
    replacements = [
        *_by_worker(bench, workflow, steps, middle, right),
        *_by_hand(view, workflow, [step for step in steps if step != workflow.final], left),
    ]
    if accepted is None or not replacements:
        return None
    return StepSearch(
        accepted=accepted,
        replacements=tuple(replacements),
        repeats=repeats,
        hand=HandEdit(at=time.time(), by=bench.asker.person or "a person"),
    )


def _accepted(
    bench: Workbench,
    session: str,
    left: DeltaGenerator,
    right: DeltaGenerator,
) -> Accepted | None:
    """What the person enters; in a session of an evaluation first what is right for its question."""
    item = asked_item(bench.store, session)
    own = None if item is None else accepted_of(item)
    target = item.target[0] if own is None and item is not None else "" if own is None else own.target[0]
    answer = left.text_input(
        "Accepted answer", value=target, key=f"accepted-{session}", placeholder="What would have been right"
    )
    checks: Sequence[Check] = get_args(Check)
    check = right.selectbox(
        "Right if the answer",
        checks,
        index=0 if own is None else checks.index(own.check),
        key=f"accepted-check-{session}",
        format_func=distinct_labels(_CHECKS),
        help="Compares as evaluations do: words without case, numbers by value",
    )
    if item is not None and own is None:
        st.caption(f"The question's own scorer, {item.scored_by}, cannot be used here.")
    targets = own.target if own is not None and answer == own.target[0] else (answer,)
    try:
        return Accepted(target=targets, check=check, choices=None if own is None else own.choices)
    except ValidationError:
        return None


def _by_worker(
    bench: Workbench,
    workflow: Workflow,
    steps: Sequence[int],
    left: DeltaGenerator,
    right: DeltaGenerator,
) -> list[Replacement]:
    worker = left.selectbox(
        "Another worker",
        bench.pool.names,
        index=None,
        key="search-worker",
        placeholder="Takes over the steps",
    )
    if worker is None:
        return []
    others = [step for step in steps if workflow.steps[step].worker != worker]
    chosen = right.multiselect(
        "Its steps",
        others,
        key=f"search-steps-{len(workflow)}-{worker}",
        format_func=distinct_labels({step: step_name(workflow, step) for step in others}),
        placeholder="All steps of other workers",
    )
    return [Replacement(step=step, worker=worker) for step in chosen or others]


def _by_hand(
    view: SessionView, workflow: Workflow, steps: Sequence[int], place: DeltaGenerator
) -> list[Replacement]:
    if not steps:
        place.caption("The only step gives the answer itself, so there is no output to write by hand.")
        return []
    chosen = place.multiselect(
        "By hand",
        steps,
        key=f"search-written-{len(workflow)}",
        format_func=distinct_labels({step: step_name(workflow, step) for step in steps}),
        placeholder="Write a step's output",
    )
    replacements = []
    for step in chosen:
        before = view.state.steps[step].text if view.state is not None and view.as_run else ""
        text = st.text_area(
            f"Output of step {step + 1}",
            value=before,
            key=f"search-text-{view.session.id}-{step}",
            height=120,
        )
        if text.strip() != before.strip():
            replacements.append(Replacement(step=step, text=text))
    return replacements


def search_results(results: Results, search: StepSearch, *, editor: Editor | None) -> None:
    """One row a replacement, the one that turned the answer right most often first."""
    workflow, base = results.base.workflow, results.base
    if workflow is None:
        return
    verdicts = step_verdicts(base, results.trials, results.states, results.right)
    accepted = ", ".join(search.accepted.target)
    st.caption(plain(f"Right where the answer {_CHECKS[search.accepted.check]}: {accepted}", limit=300))
    if not results.live:
        st.markdown(plain(found_words(verdicts)))
    for at, verdict in enumerate(verdicts):
        _verdict(results, workflow, verdict, key=f"search-{results.record.id}-{at}", editor=editor)


def _verdict(
    results: Results, workflow: Workflow, verdict: StepVerdict, *, key: str, editor: Editor | None
) -> None:
    box = expander(plain(f"{_title(workflow, verdict)}: {verdict.words}", limit=300), _icon(verdict), key=key)
    if box is None:
        return
    replaced = verdict.replacement
    runs = [(at, trial.repeat) for at, trial in enumerate(results.trials) if trial.replacement == replaced]
    # The final step's output is the answer itself.
    step = None if replaced is None or replaced.step == workflow.final else replaced.step
    with box:
        for at, repeat in runs:
            _run(results, at, repeat, step=step, key=f"{key}-{at}")
        first = next((results.states[at] for at, _ in runs if at in results.states), None)
        with row():
            if replaced is not None and replaced.worker is not None and editor is not None and verdict.right:
                action(
                    "Keep",
                    "check",
                    partial(editor.keep_worker, replaced.step, replaced.worker),
                    key=f"keep-{key}",
                    help=f"Give step {replaced.step + 1} to {replaced.worker}; undo restores the current one",
                )
            if first is not None and not first.live:
                compare_page_link(f"run:{results.base.run}", f"run:{first.run}", label="Compare the runs")


def _run(results: Results, at: int, repeat: int, *, step: int | None, key: str) -> None:
    """The output that was put there, and what became of the answer."""
    state = results.states.get(at)
    if state is None or not state.steps:
        return
    if step is not None and state.steps[step].text:
        before = results.base.steps[step].text
        text_diff(
            before,
            state.steps[step].text,
            key=f"{key}-step",
            label=f"Step {step + 1}",
            context=200,
            height=160,
        )
    if state.answer is not None:
        marks = {True: ["right"], False: ["wrong"], None: []}[results.right.get(at)]
        text_diff(
            results.base.answer or "",
            state.answer,
            key=f"{key}-answer",
            label=f"Answer {repeat}",
            notes=marks,
            context=200,
            height=240,
        )
    elif not state.live:
        failed = next((each.message for each in state.steps if each.message), run_label(state))
        st.caption(plain(f"Run {repeat} gave no answer: {failed}"))


def _title(workflow: Workflow, verdict: StepVerdict) -> str:
    replaced = verdict.replacement
    if replaced is None:
        return "Control: nothing replaced"
    how = "by hand" if replaced.worker is None else f"by {replaced.worker}"
    return f"{step_name(workflow, replaced.step)}, {how}"


def _icon(verdict: StepVerdict) -> str:
    if not verdict.ended:
        return "schedule"
    return "check_circle" if verdict.right else "cancel"
