"""The attempts at the plan, and other plans than the one that counts: those in the Conductor's text, and
alternatives asked for at once.

Each can be looked at, used or compared; none takes the place of the workflow until a person uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from conductor.errors import EditConflict
from conductor.text.formatting import quantity
from conductor.values.total import Total
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import rules_address
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.plan_choices import PlanChoice, choices_of_batch, choices_of_text
from pages.components.widgets.controls import action, compare_page_link, row
from pages.components.widgets.text_block import text_block
from pages.components.workbench.canvas import still_graph
from pages.components.workbench.planning.plan import attempts, marked, plan_facts
from storage import Plan
from studio.sessions.activity import FEWEST, MOST
from studio.workbench import Workbench

focus_fallback("ask-alternatives", "stop", "plan-choices-batch")
focus_fallback("plan-choices-text", "run", "share")
focus_fallback("plan-choices-batch", "run", "share")

_USUAL = 3

# -- a list of plans -----------------------------------------------------------------------------


_VERDICTS = {
    "valid": (":material/check_circle:", "green"),
    "keeps the answer": (":material/keep:", "gray"),
    "not valid": (":material/rule:", "orange"),
    "no plan": (":material/error:", "red"),
}


def other_plans(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw them, and what asks for more."""
    current = None if view.head is None else view.head.workflow
    of_text = () if view.plan is None else choices_of_text(view.plan, current=current)
    batch = bench.store.plans.alternatives(view.session.id)
    with st.container(key="other-plans", gap="small"):
        if len(of_text) > 1:
            st.caption(f"{quantity(len(of_text), 'complete plan')} in the Conductor's text.")
            _plan_list(bench, tab, view, of_text, key="text")
        if batch:
            of_batch = choices_of_batch(batch, current=current)
            st.caption(plain(_of_batch(batch, of_batch)))
            _plan_list(bench, tab, view, of_batch, key="batch")
        _ask(bench, view)
        tab.show_notice("candidates")


def plans_remark(bench: Workbench, view: SessionView) -> str:
    """How many there are beside the one of the Conductor's text that counts; "" without any."""
    report = None if view.plan is None else view.plan.report
    of_text = 0 if report is None else max(0, len(report.candidates) - 1)
    return str(of_text + len(bench.store.plans.alternatives(view.session.id)) or "")


def plans_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    plans = bench.store.plans.of_session(view.session.id)
    latest, of = view.latest_plan, view.plan
    if latest is not None and (of is None or (latest.round, latest.looks_back) != (of.round, of.looks_back)):
        attempts(plans, of=latest, elsewhere=(None if view.busy else view.no_plan) or view.kept_answer)
    if of is not None:
        attempts(plans, of=of, elsewhere=of)
    other_plans(bench, tab, view)


def _of_batch(batch: Sequence[Plan], choices: Sequence[PlanChoice]) -> str:
    spent = Total.of(plan.usage for plan in batch).known_words
    facts = " · ".join([f"{quantity(len(batch), 'alternative')} requested at once", *spent])
    valid = sum(plan.report is not None and plan.report.workflow is not None for plan in batch)
    sentences = [f"{facts}; {valid or 'none'} of them valid." if valid < len(batch) else f"{facts}."]
    if valid > 1 and sum(choice.workflow is not None for choice in choices) == 1:
        sentences.append("All of them are the same plan.")
        if batch[0].planner_kind == "offline":
            sentences.append("The built-in planner follows rules, so it writes the same plan every time.")
    return " ".join(sentences)


def _ask(bench: Workbench, view: SessionView) -> None:
    session = view.session.id
    with row("alternatives"):
        action(
            "Ask for alternatives",
            "alt_route",
            lambda: bench.planning.begin_alternatives(session, st.session_state[f"alternatives-{session}"]),
            key="ask-alternatives",
            disabled=view.locked,
            place="candidates",
        )
        st.segmented_control(
            "How many",
            list(range(FEWEST, MOST + 1)),
            default=_USUAL,
            required=True,
            key=f"alternatives-{session}",
            label_visibility="collapsed",
        )
        st.caption("plans at once, within the session's budget", width="content")
    head = view.head
    if head is not None and (head.origin != "conductor" or bench.conductor.card.kind != "offline"):
        compare_page_link(
            f"revision:{head.id}",
            rules_address(session),
            label="Race against the rule-based plan",
            help="Compare with the rule-based plan, then run both",
        )


def _plan_list(
    bench: Workbench, tab: TabState, view: SessionView, choices: Sequence[PlanChoice], *, key: str
) -> None:
    """Draw them in a box; one may be looked at."""
    looked = st.session_state.get(_looked(view))
    with st.container(border=True, gap="small", key=f"plan-choices-{key}"):
        for choice in choices:
            _choice(bench, tab, view, choice, looked=choice.key == looked)
            if choice.key == looked:
                _look(bench, tab, choice)


def _looked(view: SessionView) -> str:
    """Where the tab remembers the plan that is looked at."""
    return f"looked-{view.session.id}"


def _choice(bench: Workbench, tab: TabState, view: SessionView, choice: PlanChoice, *, looked: bool) -> None:
    usable = choice.workflow or choice.over_limit
    in_use = usable is not None and view.head is not None and usable == view.head.workflow
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
                tip = "Compare with this plan, then run both"
                compare_page_link(f"revision:{view.head.id}", choice.address, help=tip)
            if choice.plan.report is not None:
                _look_button(view, choice, looked=looked)
            if choice.workflow is not None or choice.over_limit is not None:
                _use_button(bench, tab, view, choice, in_use=in_use)


def _use_button(
    bench: Workbench, tab: TabState, view: SessionView, choice: PlanChoice, *, in_use: bool
) -> None:
    word, tip = "Use", "Make this plan the workflow; Undo restores the current one"
    if choice.workflow is None and choice.over_limit is not None:
        word, tip = (
            "Take it anyway",
            f"{len(choice.over_limit)} steps, over the limit; it counts as an edit",
        )
    action(
        word,
        "check",
        lambda: _use(bench, tab, view, choice),
        key=f"use-{choice.key}",
        help=tip,
        disabled=view.locked or in_use,
        type="tertiary",
        place="candidates",
    )


def _title(choice: PlanChoice, *, in_use: bool) -> None:
    icon, colour = _VERDICTS[choice.verdict]
    with row():
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
        yield choice.problems[0] + (f" And {quantity(left, 'more reason')}." if left > 0 else "")
    if facts:
        yield " · ".join(facts)


def _use(bench: Workbench, tab: TabState, view: SessionView, choice: PlanChoice) -> None:
    assert choice.candidate is not None, "only a workflow can be used"
    try:
        if choice.over_limit is None:
            used = bench.planning.use_candidate(choice.plan.id, choice.candidate, head=view.head)
        else:
            used = bench.planning.take_over_limit(choice.plan.id, choice.candidate, head=view.head)
        tab.note_own(used.id)
    except EditConflict:
        _not_used(bench, tab, view.session.id, choice)
    else:
        tab.select(None)
        st.session_state.pop(_looked(view), None)


def _not_used(bench: Workbench, tab: TabState, session: str, choice: PlanChoice) -> None:
    """Another workflow than the one shown would have been replaced; one that is the same is no loss."""
    there = bench.store.revisions.head(session)
    if there is None or there.workflow == (choice.workflow or choice.over_limit):
        return
    by = f" by {there.author}" if there.author else ""
    note = f": {there.note}" if there.note else ""
    tab.notify(
        "info",
        f"Not used: the workflow was changed in the meantime (revision {there.number}{by}{note}). "
        f"You see it now; press Use again to replace it with {choice.name}.",
        place="candidates",
    )


def _look_button(view: SessionView, choice: PlanChoice, *, looked: bool) -> None:
    def turned() -> None:
        st.session_state[_looked(view)] = None if looked else choice.key

    name, icon = ("Hide", "visibility_off") if looked else ("Show", "visibility")
    action(name, icon, turned, key=f"look-{choice.key}", type="tertiary", redraw=False)


def _look(bench: Workbench, tab: TabState, choice: PlanChoice) -> None:
    """One plan whole: its graph, or why it is none, and what the Conductor wrote."""
    report = choice.plan.report
    if report is None:
        return
    place = f"looked-at-{choice.key}"
    with st.container(key=place, gap="small"):
        for problem in choice.problems:
            st.markdown(f"- {plain(problem)}")
        if choice.workflow is not None:
            key = f"graph-of-{choice.key}"
            still_graph(bench, tab, choice.workflow, run=None, key=key, inspector=place)
        at = choice.candidate if choice.candidate is not None else report.chosen
        text_block(
            marked(report.model_copy(update={"chosen": at})),
            key=f"text-of-{choice.key}",
            label="Conductor's text",
            notes=[choice.plan.planner],
            height=260,
        )
