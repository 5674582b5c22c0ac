"""Two sides compared: figures, answers, graphs, steps. Draws only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import streamlit as st

from conductor.text.formatting import counted
from conductor.text.word_diff import compare_texts
from conductor.workers.protocol import WorkerCard
from conductor.workflow.diff import plan_diff
from pages.components.compare.graphs import Pictures, compared_graph, pictures_alike
from pages.components.compare.steps import Compared, Row, compared_steps, row_key
from pages.components.tab.state import plain
from pages.components.view_models.comparable import Side, figures
from pages.components.view_models.plan_text import Which, headline
from pages.components.view_models.run_text import answer_kind, answer_notes, run_label
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import Stretch
from pages.components.widgets.text_diff import text_diff
from pages.components.widgets.text_table import Cell, text_table
from pages.components.widgets.text_table import Row as SheetRow

_VIEWS = ("Changes", "Side by side")


def compare_two(left: Side, right: Side, *, cards: Mapping[str, WorkerCard]) -> None:
    """Draw the comparison of two sides."""
    compared = Compared(left, right, plan_diff(left.workflow, right.workflow))
    st.markdown(plain(_summary(compared)))
    _figures(compared)
    if left.session.query != right.session.query:
        text_diff(left.session.query, right.session.query, key="compare-query", label="Query", height=140)
    _answers(compared)
    _plan(compared, cards)


def _summary(compared: Compared) -> str:
    """How the plans and the answers differ, in two sentences."""
    planned = headline(compared.diff)
    # Outputs may differ where the plans do not.
    sentences = [planned if compared.diff.empty else f"Plan: {planned}"]
    left, right = compared.left.state, compared.right.state
    if left is not None and right is not None and left.answer is not None and right.answer is not None:
        same = left.answer == right.answer
        sentences.append("The answers are the same." if same else "The answers differ.")
    live = [side.name for side in (compared.left, compared.right) if side.state and side.state.live]
    sentences += [f"{name} is still running; this is how far it had come." for name in live]
    return " ".join(sentences)


def _figures(compared: Compared) -> None:
    if compared.left.state is None and compared.right.state is None:
        return
    found = figures(compared.left, compared.right)
    left, right = compared.left.name, compared.right.name
    if left == right:
        # As of two sessions.
        left, right = f"{left}, left", f"{right}, right"

    def figures_row(name: str, texts: Iterable[str]) -> SheetRow:
        return SheetRow(name, tuple(Cell(text=(Stretch(text),)) for text in texts))

    rows = [
        figures_row(left, (figure.left for figure in found)),
        figures_row(right, (figure.right for figure in found)),
        figures_row("Difference", (figure.difference for figure in found)),
    ]
    columns = [figure.name for figure in found]
    text_table(rows, key="compare-figures", label="Figures of both sides", columns=columns, narrow=True)


def _answers(compared: Compared) -> None:
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
    alike = _alike(old, new)
    view = st.segmented_control(
        "Answers as",
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


# -- plan: graphs and steps, of which one may be selected -----------------------------------------------


def _plan(compared: Compared, cards: Mapping[str, WorkerCard]) -> None:
    pair = (compared.left.address, compared.right.address)
    if st.session_state.get("compare-pair") != pair:
        st.session_state["compare-pair"] = pair
        st.session_state["compare-row"] = None

    def chosen(which: Which, step: int | None) -> None:
        row = None if step is None else _row_of(compared, which, step)
        st.session_state["compare-row"] = row
        st.session_state["compare-revision"] = st.session_state.get("compare-revision", 0) + 1
        if row is not None:
            st.session_state[row_key(compared, row)] = True

    @st.fragment(key="compare-plan")
    def plan() -> None:
        row: Row = st.session_state["compare-row"] or (None, None)
        st.subheader("Plan", anchor=False)
        left, right = pictures_alike(compared.left.workflow, compared.right.workflow)
        sides: tuple[tuple[Which, Side, Pictures, int | None], ...] = (
            ("left", compared.left, left, row[0]),
            ("right", compared.right, right, row[1]),
        )
        for column, (which, side, pictures, selected) in zip(st.columns(2, gap="small"), sides, strict=True):
            with column:
                compared_graph(
                    side,
                    compared.diff,
                    which,
                    pictures=pictures,
                    cards=cards,
                    selected=selected,
                    selection_revision=st.session_state.get("compare-revision", 0),
                    on_select=chosen,
                )
        steps()

    @st.fragment(key="compare-list")
    def steps() -> None:
        """Apart from the graphs, which stay as they are while steps are opened and closed."""
        _steps(compared)

    plan()


def _row_of(compared: Compared, which: Which, step: int) -> Row:
    return next(row for row in compared.diff.rows if row[0 if which == "left" else 1] == step)


def _steps(compared: Compared) -> None:
    rows = compared.diff.rows
    differing = [row for row in rows if compared.words(row)]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader("Steps", anchor=False, width="content")
        every = st.toggle("All steps", key="compare-all", value=False) if differing else True
    selected = st.session_state["compare-row"]
    shown = [row for row in rows if every or row in differing or row == selected]
    with st.container(key="compare-steps", gap="xsmall"):
        compared_steps(compared, shown)
    if len(shown) < len(rows):
        left_out = len(rows) - len(shown)
        st.caption(f"{counted(left_out, 'unchanged step')} {'is' if left_out == 1 else 'are'} not listed.")
