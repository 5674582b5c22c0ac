"""The questions of an evaluation with the answers of its planners; each answer opens as its session.

Those that one of two planners has right and the other wrong open side by side on the Compare page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from conductor.errors import StorageError
from conductor.evaluation.evaluation_table import Cell, disagreements
from conductor.evaluation.items import Item
from conductor.evaluation.report import planner_name
from conductor.evaluation.score import Verdict
from conductor.evaluation.spec import EvaluationSpec
from conductor.text.formatting import quantity
from pages.components.streamlit_patches.initial_values import show_stored, stored_key
from pages.components.tab.state import plain
from pages.components.widgets.controls import compare_page_link
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore
from storage.records import EvaluationRecord, RunRecord

_PER_PAGE = 10

_APART, _ALL = "One right, the other wrong", "All questions"

_ICONS: Mapping[Verdict, str] = {
    "right": ":material/check:",
    "wrong": ":material/close:",
    "no answer": ":material/format_clear:",
    "no plan": ":material/block:",
    "failed": ":material/error:",
    "refused": ":material/do_not_disturb_on:",
    "unjudged": ":material/question_mark:",
    "unanswered": ":material/cloud_off:",
}

Row = tuple[Cell, ...]


def questions(store: SessionStore, record: EvaluationRecord, cells: Sequence[Cell]) -> None:
    """Draw those of these cells, a page at a time; nothing before the first answer."""
    spec = record.spec
    whole = frozenset(spec.whole)
    cells = [cell for cell in cells if cell.planner in whole]
    if not cells:
        return
    st.subheader("Questions", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="questions-choice"):
        which = _APART if len(spec.whole) > 1 else _ALL
        if len(spec.whole) > 1:
            which = st.segmented_control(
                "Which", [_APART, _ALL], default=_APART, required=True, key="questions-which",
                label_visibility="collapsed",
            ) or _APART  # fmt: skip
        pair = _pair(spec, cells) if which == _APART else None
    if pair is None:
        rows = _all(cells)
    else:
        rows = [tuple(row) for row in disagreements(cells, *pair)]
        st.caption(plain(_sentence(rows, pair, spec)))
    pages = -(-len(rows) // _PER_PAGE)
    at = min(st.session_state.get(stored_key("questions-page"), 1), max(1, pages))
    if pages > 1:
        at = st.pagination(pages, key=show_stored("questions-page", at))
    items = store.evaluations.items(record.id, damaged=True)
    with st.container(key="questions", gap="small"):
        for row in rows[(at - 1) * _PER_PAGE : at * _PER_PAGE]:
            _question(store, spec, items[row[0].item], row, compared=pair is not None)


def _pair(spec: EvaluationSpec, cells: Iterable[Cell]) -> tuple[str, str]:
    """The two planners that are chosen: at first, the first one and the best of the others."""
    right = Counter(cell.planner for cell in cells if cell.result.score.right)
    best = max(range(1, len(spec.whole)), key=lambda at: right[spec.whole[at]])
    names = {planner: planner_name(planner, spec) for planner in spec.whole}

    def chosen(label: str, number: int, at: int) -> str:
        return st.selectbox(
            label, spec.whole, index=at, key=f"questions-{number}", width=260,
            format_func=distinct_labels(names),
        )  # fmt: skip

    return chosen("First planner", 0, 0), chosen("Second planner", 1, best)


def _sentence(rows: Sequence[Row], pair: tuple[str, str], spec: EvaluationSpec) -> str:
    one, other = (planner_name(planner, spec) for planner in pair)
    noun = "question" if spec.repeats == 1 else "answer"
    first = sum(left.result.score.right for left, _ in rows)
    if not rows:
        return f"{one} and {other} have the same {noun}s right."
    return f"{one} alone is right on {quantity(first, noun)}, {other} alone on {len(rows) - first:,}."


def _all(cells: Sequence[Cell]) -> list[Row]:
    groups: defaultdict[tuple[int, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.item, cell.repeat].append(cell)
    return [tuple(row) for _, row in sorted(groups.items())]


def _question(store: SessionStore, spec: EvaluationSpec, item: Item, row: Row, *, compared: bool) -> None:
    order = {planner: at for at, planner in enumerate(spec.whole)}
    with st.container(key=f"question-{row[0].item}-{row[0].repeat}", gap="xxsmall"):
        repeat = f" (answer {row[0].repeat + 1})" if spec.repeats > 1 else ""
        facts = [
            f"Right: {', '.join(item.target)[:200]}{repeat}",
            *([item.category] if item.category else []),
        ]
        st.markdown(plain(item.input, limit=400))
        st.caption(plain(" · ".join(facts)))
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            row = row if compared else tuple(sorted(row, key=lambda cell: order[cell.planner]))
            runs = [_run(store, cell) for cell in row]
            for cell, run in zip(row, runs, strict=True):
                _answer(spec, cell, run, whole=compared)
            there = [f"run:{run.id}" for run in runs if run is not None]
            if compared and len(there) == 2:
                compare_page_link(*there, help="Both answers side by side")


def _answer(spec: EvaluationSpec, cell: Cell, run: RunRecord | None, *, whole: bool) -> None:
    """The way to the session of a cell; `whole`: with the answer in its words."""
    score = cell.result.score
    name = planner_name(cell.planner, spec)
    answer = score.answer or score.verdict
    origin = run.pool_label if run is not None and score.answer else None
    compared = " · ".join(filter(None, (score.answer, score.reason, origin)))
    words = " · ".join(filter(None, (plain(answer, limit=80), origin and plain(origin))))
    label = f"**{plain(name)}**: {words}" if whole else plain(name)
    st.page_link(
        "pages/workbench.py",
        label=label,
        icon=_ICONS[score.verdict],
        help=plain(f"{score.verdict}: {compared or '-'}", limit=600),
        query_params={"session": cell.session},
        width="content",
    )


def _run(store: SessionStore, cell: Cell) -> RunRecord | None:
    try:
        return store.runs.latest(cell.session)
    except StorageError:
        return None
