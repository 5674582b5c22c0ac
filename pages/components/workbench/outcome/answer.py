"""The end of a run: the answer with its rating, or what failed; and the rounds before."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.planner.corrections import Thumbs
from conductor.report.words import STATUSES
from conductor.runs.state import RunState
from conductor.text.final_answer import NO_ANSWER
from conductor.text.formatting import duration, quantity
from conductor.values.output import NO_ANSWER as REFUSED
from conductor.workflow.model import Workflow
from pages.components.streamlit_patches.initial_values import on_choice, show_stored
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import (
    STATE_ICONS,
    answer_kind,
    answer_notes,
    author_notes,
    run_label,
    used_of,
)
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, expander, row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.workbench.canvas import still_graph
from pages.components.workbench.outcome.keep_as_test import NOTICE, keep_as_test
from pages.components.workbench.planning.plan import plan_facts
from pages.components.workbench.question.settings import open_settings
from pages.components.workbench.step.notes import step_notes
from storage import Plan, Revision
from studio.evaluation.planner_learning.planner_use import planner_in_use, teach
from studio.workbench import Workbench
from studio.workbench.resuming import MOST

_THUMBS: Sequence[Thumbs] = ("down", "up")
"""By the number that the widget gives them."""

_RATED = {
    "up": "{who} rated this answer good.",
    "down": "{who} rated this answer bad.",
    None: "Is this answer good?",
}

_FIRST_WORDS = 60


def pool_notes(view: SessionView) -> list[str]:
    """Notes on the pool that ran, which may differ from today's."""
    return [view.run.pool_label] if view.run is not None and view.run.pool_label else []


def outcome(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The end of a run: the answer, or what failed, what was kept and what to do.

    An audience gets nothing that changes the session.
    """
    state = view.state
    if state is None or state.live or state.workflow is None:
        return
    if view.unsaved:
        st.error(
            f"Part of this run could not be stored: {plain(view.unsaved)} This page shows it until the "
            "app ends. Copy what you need, fix the cause and run again.",
            icon=":material/save:",
        )
    used = bench.store.sessions.total(view.session.id)
    if used.known_words and used != used_of(state):
        st.caption(plain(f"The session, with planning and all runs: {' · '.join(used.known_words)}"))
    when = "" if view.as_run else "Before your edits: "
    _what_happened(view, state, state.workflow, when=when, acts=not tab.watched)
    if state.answer is not None:
        notes = [] if view.as_run else ["of the run before your edits"]
        notes += [*answer_notes(state), *(pool_notes(view) or answer_kind(state))]
        if state.status == "finished" and not state.answered:
            _no_answer(state, notes)
        else:
            _noted_answer(bench, tab, view, state, notes)
        if state.warning:
            st.caption(plain(state.warning))
        if not tab.watched:
            thumbs(bench, tab, view)
    elif not state.whole:
        _earlier_answer(bench, view, state)
    if view.kept_answer is not None:
        _kept_answer(view.kept_answer)


def _noted_answer(
    bench: Workbench, tab: TabState, view: SessionView, state: RunState, notes: Sequence[str]
) -> None:
    """The answer, with what people wrote on the output that it is."""
    at = state.answer_step
    written = None
    if view.as_run and at is not None and state.steps[at].text == state.answer:
        written = step_notes(bench, tab, view, "output", state.answer, step=at)
    rendered_text(
        state.answer or "",
        key=f"answer-{state.run}",
        label="Answer",
        notes=notes,
        notable=None if written is None else written.notable(shows_match=False),
    )
    if written is not None:
        written.draw("answer")


def _earlier_answer(bench: Workbench, view: SessionView, state: RunState) -> None:
    """The answer that still stands after a run that went for a part of the workflow only."""
    runs = bench.store.runs.of_session(view.session.id)
    earlier = next((run for run in runs if run.answer is not None and run.id != state.run), None)
    if earlier is None or earlier.answer is None:
        st.caption("No answer yet. Run the whole workflow to get one.")
        return
    notes = ["of an earlier run", *([earlier.pool_label] if earlier.pool_label else [])]
    rendered_text(earlier.answer, key=f"answer-{earlier.id}", label="Answer", notes=notes)


def _kept_answer(plan: Plan) -> None:
    """That the Conductor looked at the answer and leaves it as it is, with its own reason."""
    reason = plan.report.reasoning if plan.report is not None else ""
    rendered_text(
        reason or "The Conductor gave no reason.",
        key=f"kept-{plan.id}",
        label=f"Round {plan.round}: the Conductor keeps the answer",
        notes=[plan.planner, *plan_facts(plan)],
        copy=False,
        height=140,
    )


def _what_happened(view: SessionView, state: RunState, workflow: Workflow, *, when: str, acts: bool) -> None:
    rest = f"{quantity(len(state.outputs), 'finished output')} kept"
    rest += f"; {view.next_run}." if view.newest and view.next_run else "."
    resumed = state.scope.resumption
    if resumed:
        st.caption(f":material/restart_alt: {when}Resumed by itself after its process ended.")
    for at, step in enumerate(state.steps):
        if step.status == "failed":
            st.error(
                f"{when}{plain(step_name(workflow, at))} failed: {plain(step.message or '')} {rest}",
                icon=":material/error:",
            )
    if state.crossing is not None and state.status == "finished":
        cut = "; steps that the answer does not need were stopped" if state.crossing.stopped else ""
        st.caption(f"{when}{plain(f'The budget is used up: {state.crossing.words}{cut}.')}")
    elif state.crossing is not None:
        is_own = state.crossing.of is None
        again = " A rerun starts with a fresh budget." if is_own else ""
        st.warning(
            f"{when}Stopped at the budget: {plain(state.crossing.words)}. {rest}{again}",
            icon=STATE_ICONS["over_budget"],
        )
        if acts and is_own:
            action("Raise the limit", "tune", open_settings, key="raise-limit")
    if state.covers is not None:
        names = ", ".join(str(step + 1) for step in state.covers)
        st.caption(f"{when}This run covered step {names} only; the others did not run.")
    for reused, reads in state.cutoffs.items():
        names = ", ".join(str(read + 1) for read in reads)
        st.caption(
            f":material/content_cut: {when}Step {names} answered as before, so step {reused + 1} was reused."
        )
    for gate in state.open_gates:
        st.caption(f":material/front_hand: {when}Step {gate + 1} was reused, without a wait at its gate.")
    match state.status:
        case "finished":
            st.caption((when or "This run: ") + " · ".join(_sums(state)))
        case "cancelled":
            st.info(f"{when}Stopped. {rest}", icon=":material/stop_circle:")
        case "paused":
            st.info(f"{when}{run_label(state).capitalize()}. {rest}", icon=STATE_ICONS["paused"])
        case "interrupted":
            st.warning(
                f"{when}Interrupted: the process that ran this ended before the run did. {rest}",
                icon=":material/power_off:",
            )
            if resumed >= MOST:
                st.caption(f"{when}It went on by itself {MOST} times in a row, and does not once more.")


def _sums(state: RunState) -> list[str]:
    """How many steps did what, and what the run took, as far as it is known: calls, tokens, cost, time."""
    counts = state.counts
    parts = [f"{quantity(counts.pop('ran'), 'step')} ran"]
    parts += [f"{count} {what}" for what, count in counts.items() if count]
    parts += [quantity(state.calls, "call"), *used_of(state).known_words]
    return parts if state.seconds is None else [*parts, duration(state.seconds)]


def thumbs(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw them for the answer of the run shown, and what can be done with it: a search, a test."""
    state = view.state
    if view.run is None or state is None or state.run != view.run.id or state.answer is None:
        return
    run = view.run.id
    rating, rater = bench.store.corrections.rating(run), bench.store.corrections.rater(run)

    def rated(chosen: int | None) -> None:
        bench.store.corrections.rate(
            run, None if chosen is None else _THUMBS[chosen], author=bench.asker.person
        )

    # The store counts, where another tab may have judged meanwhile.
    key = show_stored(f"thumbs-{run}", None if rating is None else _THUMBS.index(rating))
    with row("thumbs"):
        who = "You" if rater == bench.asker.person else plain(rater or "A person")
        st.caption(_RATED[rating].format(who=who), width="content")
        st.feedback("thumbs", key=key, on_change=on_choice(key, rated))
        if view.as_run and state.status == "finished" and _found_wrong(bench, view, rating):
            action(
                "Find the step",
                "troubleshoot",
                _open_search,
                key="find-step",
                help="Replace one step's output at a time and see which one makes the answer right",
            )
        keep_as_test(bench, tab, view.session, run=run, answer=state.answer)
        if view.as_run and state.status == "finished" and rating != "down":
            _teach(bench, tab, view, state.workflow)
    tab.show_notice(NOTICE)


def _teach(bench: Workbench, tab: TabState, view: SessionView, workflow: Workflow | None) -> None:
    """*Learn from this correction*, for a workflow that a person made while a planner that learnt plans."""
    planner = planner_in_use(bench)
    by_hand = view.head is not None and view.head.origin == "human"
    if planner is None or workflow is None or not by_hand:
        return

    def learn() -> None:
        tab.notify("info", teach(bench, view.session.query, workflow), place=NOTICE)

    action(
        "Learn from this correction",
        "school",
        learn,
        key="learn-from-correction",
        help=plain(f"{planner.file.name} plans questions like this one as you did"),
        place=NOTICE,
    )


def _found_wrong(bench: Workbench, view: SessionView, rating: Thumbs | None) -> bool:
    """Whether a person or the evaluation that the session is of found the answer wrong."""
    cell = bench.store.evaluations.cell_of_session(view.session.id)
    scored = None if cell is None or cell.result is None else cell.result.score
    return rating == "down" or (scored is not None and scored.is_known and not scored.right)


def _open_search() -> None:
    st.session_state["panel"], st.session_state["experiment-kind"] = "Trials", "steps"


def earlier_rounds(bench: Workbench, tab: TabState, session: str) -> None:
    """Draw them, oldest first; only what is open is drawn whole."""
    for revision, state in bench.planning.rounds(session):
        label = plain(round_line(revision, state), limit=260)
        if box := expander(label, "layers", key=f"round-{state.run}"):
            with box:
                _round(bench, tab, revision, state)


def round_line(revision: Revision, state: RunState) -> str:
    """A round in one line: number, topology, steps, the answer's first words, tokens, cost, time."""
    workflow = revision.workflow
    parts = [f"Round {state.round}", workflow.topology, quantity(len(workflow), "step")]
    if state.answer is not None:
        words = " ".join(state.answer[: _FIRST_WORDS * 2].split())
        parts.append(f"“{words[:_FIRST_WORDS]}{'…' if len(words) > _FIRST_WORDS else ''}”")
    parts += used_of(state).known_words
    if state.seconds is not None:
        parts.append(duration(state.seconds))
    return " · ".join(parts)


def _round(bench: Workbench, tab: TabState, revision: Revision, state: RunState) -> None:
    workflow = revision.workflow
    outputs = f"round-outputs-{state.run}"
    still_graph(bench, tab, workflow, run=state, key=f"round-graph-{state.run}", inspector=outputs)
    with st.container(key=outputs, gap="small"):
        for at, step in enumerate(state.steps):
            name = step_name(workflow, at)
            if not step.text:
                st.caption(plain(f"{name}: {step.message or STATUSES[step.status]}"))
                continue
            answers = [f"answer of round {state.round}"] if at == state.answer_step else []
            rendered_text(
                step.text,
                key=f"round-output-{state.run}-{at}",
                label=name,
                notes=[*author_notes(workflow.steps[at].worker, step), *answers],
                height=160,
            )


def _no_answer(state: RunState, notes: Sequence[str]) -> None:
    """Why the run ended without an answer, and the way to a model."""
    with st.container(key="no-answer", border=True, gap="small"):
        rendered_text(
            (state.answer or "").removeprefix(NO_ANSWER),
            key=f"answer-{state.run}",
            label="No answer",
            notes=[note for note in notes if note != REFUSED],
            framed=False,
        )
        if state.answer_step is not None and state.steps[state.answer_step].worker_kind == "offline":
            st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
