"""Two sides compared: figures, answers, graphs, steps; while a run of them goes, as it goes. Draws only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial

import streamlit as st

from conductor.text.formatting import quantity
from conductor.text.word_diff import compare_texts
from conductor.workers.protocol import WorkerCard
from conductor.workflow.diff import plan_diff
from pages.components.compare.figures import figures, named_apart, raced, verdict
from pages.components.compare.graphs import Pictures, compared_graph, pictures_alike
from pages.components.compare.race import POLL_SECONDS, Race, race_clock, run_both, stop_both
from pages.components.compare.steps import Compared, Row, compared_steps, row_key
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import Side
from pages.components.view_models.run_text import answer_kind, answer_notes, run_label
from pages.components.view_models.workflow.card_content import step_name
from pages.components.view_models.workflow.plan_text import Which, headline
from pages.components.widgets.controls import row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import Stretch
from pages.components.widgets.text_diff import text_diff
from pages.components.widgets.text_table import Cell, text_table
from pages.components.widgets.text_table import Row as SheetRow
from studio.workbench import Workbench

_VIEWS = ("Changes", "Side by side")


def compare_two(
    bench: Workbench, tab: TabState, left: Side, right: Side, *, cards: Mapping[str, WorkerCard]
) -> None:
    """Draw the comparison of two sides, of runs that were under way together with their graphs first."""
    left, right = named_apart(left, right)
    race = Race.of(bench, left, right)
    compared = Compared(left, right, plan_diff(left.workflow, right.workflow))
    in_time = race.under_way or raced(left, right)
    # One element, so that what follows stays in its place when a race ends.
    with st.container(key="compare-outline", gap="small"):
        if in_time and not race.under_way:
            st.markdown(f":material/sports_score: **{plain(verdict(left, right))}**")
        with row("compare-summary"):
            st.markdown(plain(_summary(compared, race)), width="stretch")
            if race.live:
                stop_both(bench, race)
        if cards and not race.under_way:
            run_both(bench, tab, race)
    if left.session.query != right.session.query:
        text_diff(left.session.query, right.session.query, key="compare-query", label="Query", height=140)
    if in_time:
        _plan(compared, cards, race, in_time=True)
        if not race.under_way:
            _answers(compared, beside=True)
            _figures(compared)
    else:
        _figures(compared)
        _answers(compared)
        _plan(compared, cards, race, in_time=False)
    if not race.under_way:
        # Apart from the graphs, which stay as they are while steps are opened and closed.
        st.fragment(_steps, key="compare-list")(compared)


def _summary(compared: Compared, race: Race) -> str:
    """How the plans and the answers differ, in two sentences."""
    planned = headline(compared.diff)
    # Outputs may differ where the plans do not.
    sentences = [planned if compared.diff.empty or not compared.diff.pairs else f"Plan: {planned}"]
    left, right = compared.left.state, compared.right.state
    answers = [state.answer for state in (left, right) if state is not None and state.answer is not None]
    if len(answers) == 2 and not race.under_way:
        same = answers[0] == answers[1]
        sentences.append("The answers are the same." if same else "The answers differ.")
    return " ".join(sentences)


def _figures(compared: Compared) -> None:
    if compared.left.state is None and compared.right.state is None:
        return
    entries = figures(compared.left, compared.right)

    def figures_row(name: str, texts: Iterable[str]) -> SheetRow:
        return SheetRow(name, tuple(Cell(text=(Stretch(text),)) for text in texts))

    rows = [
        figures_row(compared.left.name, (figure.left for figure in entries)),
        figures_row(compared.right.name, (figure.right for figure in entries)),
        figures_row("Difference", (figure.difference for figure in entries)),
    ]
    columns = [figure.name for figure in entries]
    text_table(rows, key="compare-figures", label="Figures for both sides", columns=columns, narrow=True)


def _answers(compared: Compared, *, beside: bool = False) -> None:
    """The answers; those that have something in common as their changes, if not `beside` each other."""
    sides = [side for side in (compared.left, compared.right) if side.state is not None]
    if not sides:
        return
    answered = [side for side in sides if side.state is not None and side.state.answer is not None]
    st.subheader("Answer", anchor=False)
    for side in (compared.left, compared.right):
        if side not in answered:
            why = "not run" if side.state is None else run_label(side.state)
            st.caption(plain(f"{side.name} has no answer: {why}."))
    if len(answered) < 2:
        for side in answered:
            _answer(side, key="one")
        return
    old, new = (side.state.answer or "" for side in answered if side.state is not None)
    if old == new:
        _answer(answered[1], key="same", notes=["the same on both sides"])
        return
    # Where nothing is left of a text, its changes are that text crossed out and the other one.
    alike = _alike(old, new) and not beside
    view = st.segmented_control(
        "Show answers as",
        _VIEWS,
        default=_VIEWS[0] if alike else _VIEWS[1],
        required=True,
        key=f"compare-answers-{alike}",
        label_visibility="collapsed",
    )
    if view == _VIEWS[0]:
        text_diff(old, new, key="compare-answer", label="Answer", heading=False, height=420)
        return
    for column, side, which in zip(st.columns(2, gap="medium"), answered, ("left", "right"), strict=True):
        with column:
            _answer(side, key=which)


@lru_cache(maxsize=32)
def _alike(old: str, new: str) -> bool:
    """Whether two texts have something in common."""
    return compare_texts(old, new).share > 0


def _answer(side: Side, *, key: str, notes: Sequence[str] = ()) -> None:
    if side.state is None:
        return
    rendered_text(
        side.state.answer or "",
        key=f"compare-answer-{key}",
        label=side.name,
        notes=[*notes, *answer_notes(side.state), *answer_kind(side.state)],
        height=420,
    )


# -- plan: graphs and steps, one of them selected -----------------------------------------------------


def _plan(compared: Compared, cards: Mapping[str, WorkerCard], race: Race, *, in_time: bool) -> None:
    """Both graphs, of runs with the time they took below; drawn again while something moves. `in_time`: how
    two runs went is what is looked at.
    """
    pair = (compared.left.address, compared.right.address)
    if st.session_state.get("compare-pair") != pair:
        st.session_state["compare-pair"] = pair
        st.session_state["compare-row"] = None
    tab = TabState()

    def chosen(which: Which, step: int | None) -> None:
        side = 0 if which == "left" else 1
        position = None if step is None else next(row for row in compared.diff.rows if row[side] == step)
        st.session_state["compare-row"] = position
        st.session_state["compare-revision"] = st.session_state.get("compare-revision", 0) + 1
        if position is not None:
            st.session_state[row_key(compared, position)] = True
        tab.redraw(["compare-plan", *([] if race.under_way else ["compare-list"])])

    left_pictures, right_pictures = pictures_alike(
        compared.left.workflow, compared.right.workflow, low=in_time
    )

    def plan() -> None:
        tab.redraw_on_request()
        now = race.now()
        if now.phase != race.phase:
            st.rerun()
        selected: Row = st.session_state["compare-row"] or (None, None)
        left, right = now.visible_sides()

        def stop(side: Side) -> Callable[[], None] | None:
            running = side.live and now.replay is None
            return partial(now.bench.running.stop, side.session.id) if running else None

        sides: tuple[tuple[Which, Side, Side, Pictures, int | None], ...] = (
            ("left", left, right, left_pictures, selected[0]),
            ("right", right, left, right_pictures, selected[1]),
        )
        for column, (which, side, other, pictures, step) in zip(
            st.columns(2, gap="small"), sides, strict=True
        ):
            with column:
                compared_graph(
                    side,
                    other,
                    compared.diff,
                    which,
                    pictures=pictures,
                    cards=cards,
                    selected=step,
                    selection_revision=st.session_state.get("compare-revision", 0),
                    on_select=chosen,
                    stop=stop(side),
                )
                if now.under_way:
                    _words(side, which)
        race_clock(now, cards)

    if not in_time:
        st.subheader("Plan", anchor=False)
    st.fragment(plan, key="compare-plan", run_every=POLL_SECONDS if race.moves else None)()


def _words(side: Side, which: Which) -> None:
    """A side's answer as far as it is there, else what its last step that runs is writing."""
    state = side.state
    if state is None or state.workflow is None:
        return
    running = [at for at, step in enumerate(state.steps) if step.status == "running"]
    at = state.answer_step if state.answer is not None else max(running, default=None)
    text = state.answer if at is None or state.answer is not None else state.steps[at].text
    rendered_text(
        text or "Nothing written yet.",
        key=f"compare-words-{which}",
        label="Answer" if state.answer is not None or at is None else step_name(state.workflow, at),
        notes=[] if at is None else [state.workflow.steps[at].worker],
        copy=False,
        live=True,
        height=200,
        steady=True,
    )


def _steps(compared: Compared) -> None:
    rows = compared.diff.rows
    differing = [row for row in rows if compared.words(row)]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader("Steps", anchor=False, width="content")
        every = st.toggle("All steps", key="compare-all", value=False) if differing else True
    selected = st.session_state["compare-row"]
    visible = [row for row in rows if every or row in differing or row == selected]
    with st.container(key="compare-steps", gap="xsmall"):
        compared_steps(compared, visible)
    if len(visible) < len(rows):
        left_out = len(rows) - len(visible)
        st.caption(f"{quantity(left_out, 'unchanged step')} {'is' if left_out == 1 else 'are'} not listed.")
