"""Asking the Conductor in words to change the workflow, and taking its answer step by step or leaving it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.errors import ConductorError, EditConflict
from conductor.planner.planner import MAX_WISH
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.plan_text import row_name, row_text, sentences
from pages.components.widgets.controls import action, row
from pages.components.widgets.text_diff import text_diff
from pages.components.workbench.canvas import still_graph
from pages.components.workbench.planning.plan import plan_facts
from studio.sessions.notes import author
from studio.workbench import Proposal, Workbench

_PLACE = "asked-changes"


def asked_changes(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the line in which a change is asked for, and the newest answer that is not decided."""
    if view.head is None:
        return
    with st.container(key=_PLACE, gap="small"):
        _line(bench, tab, view)
        tab.show_notice(_PLACE)
        proposal = None if view.busy else bench.changing.newest(view.session.id)
        if proposal is not None:
            with st.container(border=True, gap="small", key="asked-change"):
                _proposal(bench, tab, view, proposal)


def hand_over(tab: TabState, session: str, wish: str) -> None:
    """Open the panel with the line, which has this wish; a person still reads it and asks."""
    st.session_state[_key(session)] = wish[:MAX_WISH]
    st.session_state["panel"] = "Plans"
    tab.ask_redraw()


def _key(session: str) -> str:
    return f"wish-{session}"


def _line(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session = view.session.id
    key = _key(session)

    def ask() -> None:
        try:
            bench.changing.begin(session, st.session_state[key], author=author())
        except ConductorError as error:
            tab.notify("error", str(error), place=_PLACE)
        else:
            st.session_state[key] = ""
        tab.ask_redraw()

    with st.form(f"ask-for-changes-{session}", border=False), row("ask-for-changes"):
        st.text_input(
            "Ask for changes",
            key=key,
            placeholder="Ask for changes: use two readers and no verifier",
            max_chars=MAX_WISH,
            label_visibility="collapsed",
            disabled=view.locked,
            width="stretch",
        )
        st.form_submit_button(
            "Ask",
            icon=":material/edit_note:",
            help="The Conductor changes the plan as asked; nothing changes until you take it",
            disabled=view.locked,
            on_click=ask,
        )


def _proposal(bench: Workbench, tab: TabState, view: SessionView, proposal: Proposal) -> None:
    head = row("decide-change")
    facts = [] if proposal.plan is None else [proposal.plan.planner, *plan_facts(proposal.plan)]
    with head, st.container(gap=None):
        st.markdown(f"**Asked:** “{plain(proposal.record.wish)}”")
        st.caption(plain(" · ".join(facts)))
    rows: list[int] = []
    if proposal.diff is None:
        st.markdown(f":material/rule: No changed plan. {plain(proposal.problem or '')}")
    elif not proposal.changed_rows:
        st.markdown("The Conductor changes nothing.")
    else:
        rows = [at for at in proposal.changed_rows if _change(view, proposal, at)]
        graph_key = f"graph-of-change-{proposal.record.id}"
        still_graph(bench, tab, proposal.diff.new, run=None, key=graph_key, inspector="asked-change")
    with head:
        _decision(bench, tab, view, proposal, rows)


def _decision(
    bench: Workbench, tab: TabState, view: SessionView, proposal: Proposal, rows: list[int]
) -> None:
    """The buttons that take these rows of the diff, or none."""
    if proposal.changed_rows:
        whole = len(rows) == len(proposal.changed_rows)
        action(
            "Take" if whole else "Take these steps",
            "check",
            partial(_take, bench, tab, proposal, None if whole else rows),
            key="take-change",
            type="primary",
            help="Make it the workflow; Undo brings back what is shown now",
            disabled=view.locked or not rows,
            place=_PLACE,
        )
    action(
        "Leave",
        "close",
        bench.changing.leave,
        proposal.record.id,
        key="leave-change",
        help="Keep the workflow as it is",
        place=_PLACE,
    )


def _change(view: SessionView, proposal: Proposal, at: int) -> bool:
    """Draw what differs in a row of the diff; whether it is to be taken."""
    diff = proposal.diff
    assert diff is not None, "it has rows"
    old, new = diff.rows[at]
    label = f"{row_name(diff, (old, new))}: {', '.join(row_text(diff, (old, new)))}"
    key = f"change-{proposal.record.id}-{at}"
    is_chosen = st.checkbox(plain(label, limit=200), value=True, key=key, disabled=view.locked)
    if old is None or new is None:
        workflow, step = (diff.new, new) if old is None else (diff.old, old)
        assert step is not None, "a row has a step"
        st.caption(plain(f"{workflow.steps[step].worker}: {workflow.steps[step].instruction}", limit=400))
        return is_chosen
    for sentence in sentences(diff, diff.of_new[new]):
        st.caption(plain(sentence, limit=300))
    if "instruction" in diff.of_new[new].changes:
        before, after = diff.old.steps[old].instruction, diff.new.steps[new].instruction
        text_diff(before, after, key=f"{key}-text", label="Instruction", context=120, height=110)
    return is_chosen


def _take(bench: Workbench, tab: TabState, proposal: Proposal, rows: list[int] | None) -> None:
    try:
        revision = bench.changing.take(proposal.record.id, rows, author=author())
    except EditConflict:
        tab.notify(
            "error",
            "Not taken: the workflow was edited since this was asked. Leave it and ask again, or undo that "
            "edit.",
            place=_PLACE,
        )
        return
    tab.note_own(revision.id)
    tab.select(None)
