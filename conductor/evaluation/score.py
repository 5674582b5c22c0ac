"""A score: whether a response is right, what was taken as its answer, and why. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from conductor.runs.state import RunState
from conductor.values.messages import Value

Verdict = Literal["right", "wrong", "no answer", "no plan", "failed", "refused", "unjudged", "unanswered"]
"""Only `right` counts as right. `no answer`: the response has none in the form that the scorer reads;
`no plan`: the planner wrote no valid one; `failed`: a step failed or the run did not finish; `refused`: the
answer declines to answer. `unjudged`: the judge gave no verdict, or the process that scores could not run,
was lost or had too little time; `unanswered`: an outage left the question without a plan or an answer. What
is not judged or not answered is unknown, and counts neither as right nor as wrong."""


WITHOUT_VERDICT: Mapping[Verdict, str] = {
    "no answer": "without an answer in the form that was asked for",
    "no plan": "without a plan",
    "failed": "failed",
    "refused": "declined",
    "unjudged": "not judged",
    "unanswered": "not given",
}
"""Words for answers that were compared with nothing; all but those not judged or not given count as wrong."""


def outage_words(outages: Mapping[str, int]) -> str:
    """The outages that left questions unanswered, the most frequent first, with how many each left."""
    ordered = sorted(outages.items(), key=lambda each: -each[1])
    return ", ".join(name if len(ordered) == 1 else f"{name} ({count:,})" for name, count in ordered)


class Score(Value):
    """`answer` is what was compared, or ""; `reason` is why, where that is not plain. `outage` is what left a
    question unanswered, see `WorkerError`.
    """

    verdict: Verdict
    answer: str = ""
    reason: str = ""
    outage: str = Field(default="", exclude_if=lambda outage: not outage)

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def unanswered(self) -> bool:
        """Whether an outage left the question without an answer."""
        return self.verdict == "unanswered"

    @property
    def is_known(self) -> bool:
        """Whether it is known to be right or not."""
        return self.verdict not in ("unjudged", "unanswered")

    @classmethod
    def of(cls, right: bool, answer: str, reason: str = "") -> Score:
        return cls(verdict="right" if right else "wrong", answer=answer[:2_000], reason=reason)

    @classmethod
    def no_answer(cls, answer: str, reason: str) -> Score:
        """Of a response in which the scorer finds nothing to compare; `answer` is what it looked at."""
        return cls(verdict="no answer", answer=answer[:2_000], reason=reason)


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
