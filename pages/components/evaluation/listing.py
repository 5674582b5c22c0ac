"""The list of evaluations, and how far one is, with the button that stops it or goes on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from conductor.evaluation.report import planner_name
from conductor.text.formatting import duration, named, quantity
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import clock
from pages.components.widgets.controls import action, row
from pages.components.widgets.labels import distinct_labels
from storage.records import EvaluationRecord, EvaluationSize
from studio.evaluation.background import BackgroundEvaluations, State

_PER_PAGE = 20

STATES: Mapping[State, tuple[str, str]] = {
    "waiting": (":material/hourglass_top:", "waiting for another evaluation"),
    "running": (":material/progress_activity:", "running"),
    "elsewhere": (":material/progress_activity:", "running in another process"),
    "interrupted": (":material/pause_circle:", "stopped: its process ended"),
    "stopped": (":material/stop_circle:", "stopped"),
    "incomplete": (":material/rule:", "done, some questions unanswered"),
    "done": (":material/check_circle:", "done"),
}
"""Icon and words of each state."""


def evaluation_list(
    evaluations: BackgroundEvaluations,
    records: Sequence[EvaluationRecord],
    sizes: Mapping[str, EvaluationSize],
) -> None:
    """Draw it, a page of it at a time, with a filter where there are tags."""
    if tags := sorted({tag for record in records for tag in record.spec.tags}):
        choice = st.pills(
            "Tags",
            tags,
            selection_mode="multi",
            key="evaluations-tags",
            format_func=distinct_labels({tag: plain(tag) for tag in tags}),
        )
        records = [record for record in records if set(choice) <= set(record.spec.tags)]
    pages = -(-len(records) // _PER_PAGE)
    at = st.pagination(pages, key="evaluations-page") if pages > 1 else 1
    with st.container(key="evaluations", gap="small"):
        for record in records[(at - 1) * _PER_PAGE : at * _PER_PAGE]:
            icon, words = STATES[evaluations.state(record)]
            with st.container(key=f"evaluation-{record.id}", gap=None):
                st.button(
                    plain(record.spec.data, limit=110),
                    key=f"open-{record.id}",
                    icon=icon,
                    type="tertiary",
                    help="Open the results",
                    on_click=open_evaluation,
                    args=(record.id,),
                )
                facts = [words, *size_facts(record, sizes[record.id]), clock(record.created_at)]
                planners = named([planner_name(planner, record.spec) for planner in record.spec.whole])
                st.caption(plain(" · ".join([*facts, *record.spec.tags, planners]), limit=600))


def open_evaluation(evaluation: str | None) -> None:
    """Have the page show that evaluation; None: the list."""
    st.query_params.from_dict({} if evaluation is None else {"evaluation": evaluation})


def size_facts(record: EvaluationRecord, size: EvaluationSize) -> list[str]:
    """How many questions it has, and how many of its answers there are."""
    spec = record.spec
    cells = spec.cells(size.questions)
    answers = quantity(cells, "answer")
    return [
        quantity(size.questions, "question"),
        answers if size.scored == cells else f"{size.scored:,} of {answers}",
    ]


PLACE = "evaluation"
"""Where notices about an evaluation stand."""


def progress_line(evaluations: BackgroundEvaluations, record: EvaluationRecord, size: EvaluationSize) -> None:
    """Draw it: a bar while it is under way, else why not all of it was answered; nothing where all was."""
    state = evaluations.state(record)
    cells = record.spec.cells(size.questions)
    TabState().show_notice(PLACE)
    if state == "done":
        return
    icon, words = STATES[state]
    with st.container(key="evaluation-progress", border=True, gap="small"):
        under_way = state in ("running", "waiting", "elsewhere")
        st.progress(size.scored / max(1, cells))
        with row():
            facts = [f"{size.scored:,} of {cells:,} answers", *(_live_facts(evaluations, record))]
            st.markdown(f"{icon} **{words.capitalize()}** · {plain(' · '.join(facts))}", width="stretch")
            if state in ("running", "waiting"):
                help = "Stores the answers so far; you can resume it"
                action("Stop", "stop", evaluations.stop, record.id, key="evaluation-stop", help=help)
            elif not under_way:
                action(
                    "Resume", "play_arrow", evaluations.begin, record.id, key="evaluation-resume",
                    type="primary", help="Asks only the questions without an answer", place=PLACE,
                )  # fmt: skip
        if state in ("stopped", "incomplete") and record.reason:
            st.caption(plain(record.reason))
        elif state == "interrupted":
            st.caption("The program ended before the evaluation did. All answers so far are stored.")


def _live_facts(evaluations: BackgroundEvaluations, record: EvaluationRecord) -> list[str]:
    progress = evaluations.progress(record.id)
    if progress is None:
        return []
    left = progress.seconds_left
    return [
        *([] if left is None else [f"about {duration(left)} left"]),
        progress.used.token_words,
        "cost unknown" if progress.used.cost is None else progress.used.cost_words,
    ]
