"""A list of plans to choose from: each can be looked at, used as the workflow, or compared with it.

Knows what each of them is, not where they came from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import streamlit as st

from conductor.drawing.layout import layouts
from conductor.drawing.network import draw
from conductor.errors import ConductorError, EditConflict
from conductor.text.formatting import counted
from pages.components.graph import workflow_graph
from pages.components.tab.state import TabState, plain
from pages.components.view_models.card_content import card_contents
from pages.components.view_models.plan_choices import PlanChoice
from pages.components.view_models.session import SessionView
from pages.components.widgets.compare_link import compare_page_link
from pages.components.widgets.completion_markup import marked
from pages.components.widgets.text_block import text_block
from pages.components.workbench.plan.panel import plan_facts
from studio.workbench import Workbench

_VERDICTS = {
    "valid": (":material/check_circle:", "green"),
    "keeps the answer": (":material/keep:", "gray"),
    "not valid": (":material/rule:", "orange"),
    "no plan": (":material/error:", "red"),
}


def plan_list(
    bench: Workbench, tab: TabState, view: SessionView, choices: Sequence[PlanChoice], *, key: str
) -> None:
    """Draw them in a box; one may be looked at."""
    looked = _looked(view)
    with st.container(border=True, gap="small", key=f"plan-choices-{key}"):
        for choice in choices:
            _row(bench, tab, view, choice, looked=choice.key == looked)
            if choice.key == looked:
                _look(bench, tab, choice)


def _row(bench: Workbench, tab: TabState, view: SessionView, choice: PlanChoice, *, looked: bool) -> None:
    in_use = choice.workflow is not None and view.head is not None and choice.workflow == view.head.workflow
    with st.container(
        horizontal=True, wrap=False, vertical_alignment="top", gap="small", key=f"choice-{choice.key}"
    ):
        with st.container(gap="xxsmall"):
            _title(choice, in_use=in_use)
            for line in _lines(choice, in_use=in_use, looked=looked):
                st.caption(plain(line, limit=300))
        with st.container(
            horizontal=True, wrap=False, width="content", vertical_alignment="center", gap="small"
        ):
            if choice.workflow is not None and view.head is not None and not in_use:
                compare_page_link(
                    f"revision:{view.head.id}",
                    choice.address,
                    help="The workflow shown and this plan, side by side",
                )
            if choice.plan.report is not None:
                _look_button(view, choice, looked=looked)
            if choice.workflow is not None:
                _use(bench, tab, view, choice, in_use=in_use)


def _title(choice: PlanChoice, *, in_use: bool) -> None:
    icon, colour = _VERDICTS[choice.verdict]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(choice.name)}**", width="content")
        st.badge(choice.verdict, icon=icon, color=colour)  # type: ignore[arg-type]
        if in_use:
            st.badge("in use", icon=":material/account_tree:", color="blue")


def _lines(choice: PlanChoice, *, in_use: bool, looked: bool) -> Iterator[str]:
    """The text under a row's name; the reasons are shown in full where the plan is opened."""
    # Of plans in one text, and of several equal ones, the cost of each is unknown.
    alone = choice.plan.alternative is not None and not choice.remarks
    facts = [*choice.remarks, *(plan_facts(choice.plan) if alone else [])]
    if choice.workflow is not None:
        yield " · ".join([choice.shape, *facts])
        if choice.difference and not in_use:
            yield choice.difference
        return
    left = len(choice.problems) - 1
    if choice.problems and not looked:
        yield choice.problems[0] + (f" And {counted(left, 'more reason')}." if left > 0 else "")
    if facts:
        yield " · ".join(facts)


def _use(bench: Workbench, tab: TabState, view: SessionView, choice: PlanChoice, *, in_use: bool) -> None:
    def clicked() -> None:
        assert choice.candidate is not None, "only a workflow can be used"
        try:
            tab.note_own(bench.planning.use_candidate(choice.plan.id, choice.candidate, head=view.head).id)
        except EditConflict:
            _met(bench, tab, view.session.id, choice)
        except ConductorError as error:
            tab.notify("error", str(error), place="candidates")
        else:
            tab.select(None)
            st.session_state.pop(f"looked-{view.session.id}", None)
        tab.ask_redraw()

    st.button(
        "Use",
        key=f"use-{choice.key}",
        icon=":material/check:",
        type="tertiary",
        help="Make this plan the workflow; Undo brings back what is shown now",
        disabled=view.locked or in_use,
        on_click=clicked,
    )


def _met(bench: Workbench, tab: TabState, session: str, choice: PlanChoice) -> None:
    """Another workflow than the one shown would have been replaced; one that is the same is no loss."""
    there = bench.store.revisions.head(session)
    if there is None or there.workflow == choice.workflow:
        return
    by = f" by {there.author}" if there.author else ""
    note = f": {there.note}" if there.note else ""
    said = f"Not used yet, as the workflow was changed meanwhile (revision {there.number}{by}{note})."
    tab.notify(
        "info",
        f"{said} It is shown now; press Use again to put {choice.name} in its place.",
        place="candidates",
    )


def _looked(view: SessionView) -> str | None:
    looked: str | None = st.session_state.get(f"looked-{view.session.id}")
    return looked


def _look_button(view: SessionView, choice: PlanChoice, *, looked: bool) -> None:
    def clicked() -> None:
        st.session_state[f"looked-{view.session.id}"] = None if looked else choice.key

    st.button(
        "Close" if looked else "Look",
        key=f"look-{choice.key}",
        icon=":material/visibility_off:" if looked else ":material/visibility:",
        type="tertiary",
        on_click=clicked,
    )


def _look(bench: Workbench, tab: TabState, choice: PlanChoice) -> None:
    """One plan whole: its graph, or why it is none, and what the Conductor wrote."""
    report = choice.plan.report
    if report is None:
        return
    with st.container(key=f"looked-at-{choice.key}", gap="small"):
        for problem in choice.problems:
            st.markdown(f"- {plain(problem)}")
        if choice.workflow is not None:
            _graph(bench, tab, choice)
        at = choice.candidate if choice.candidate is not None else report.chosen
        text_block(
            marked(report.model_copy(update={"chosen": at})),
            key=f"text-of-{choice.key}",
            label="Completion as written",
            notes=[choice.plan.planner],
            height=260,
        )


def _graph(bench: Workbench, tab: TabState, choice: PlanChoice) -> None:
    workflow = choice.workflow
    assert workflow is not None, "asked of workflows only"
    pictures = layouts(workflow, direction=tab.direction)
    shown = card_contents(workflow, run=None, radius=None, cards=bench.pool.cards, now=time.time())
    workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=f"graph-of-{choice.key}",
        direction=tab.direction,
        selected=None,
        selection_revision=0,
        locked=True,
        inspector=f"looked-at-{choice.key}",
    )
