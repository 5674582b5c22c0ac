"""The score of a question's runs where they left nothing to compare, and which of them answered. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.evaluation.score import Score
from conductor.runs.state import RunState


def answering(runs: Sequence[RunState]) -> list[RunState]:
    """Those that finished with an answer; the last one's counts."""
    return [run for run in runs if run.status == "finished" and run.answer is not None]


def score_without_answer(runs: Sequence[RunState]) -> Score | None:
    """The score of runs without an answer, one a round; None if there is one to compare.

    What an earlier round answered is no answer where an outage ended a later one.
    """
    if not runs:
        return Score(verdict="no plan")
    failed = next((step.message for step in runs[-1].steps if step.message), "")
    if (outage := runs[-1].outage) is not None:
        return Score(verdict="unanswered", reason=failed, outage=outage)
    if not (answered := answering(runs)):
        return Score(verdict="failed", reason=failed)
    last = answered[-1]
    output = None if last.answer_step is None else last.steps[last.answer_step].output
    if output is None or not output.refused:
        return None
    return Score(verdict="refused", answer=output.text[:2_000])
