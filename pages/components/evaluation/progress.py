"""The progress of an evaluation, with the button that stops it or goes on with it."""

from __future__ import annotations

import streamlit as st

from conductor.text.formatting import duration
from pages.components.evaluation.listing import STATES
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, row
from storage.records import EvaluationRecord, EvaluationSize
from studio.evaluation.background import BackgroundEvaluations

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
