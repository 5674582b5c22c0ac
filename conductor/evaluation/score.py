"""A score: whether a response is right, what was taken as its answer, and why. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from conductor.values.messages import Value

Verdict = Literal["right", "wrong", "no answer", "no plan", "failed", "refused", "unjudged"]
"""Only `right` counts as right. `no answer`: the response has none in the form that the scorer reads;
`no plan`: the planner wrote no valid one; `failed`: a step failed or the run did not finish; `refused`: the
answer declines to answer. `unjudged`: the judge gave no verdict, or the process that scores could not run,
was lost or had too little time, so that it is unknown; it counts neither as right nor as wrong."""


WITHOUT_VERDICT: Mapping[Verdict, str] = {
    "no answer": "without an answer in the form that was asked for",
    "no plan": "without a plan",
    "failed": "failed",
    "refused": "declined",
    "unjudged": "not judged",
}
"""Words for answers that were compared with nothing; all but those not judged count as wrong."""


class Score(Value):
    """`answer` is what was compared, or ""; `reason` is why, where that is not plain."""

    verdict: Verdict
    answer: str = ""
    reason: str = ""

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def is_known(self) -> bool:
        """Whether it is known to be right or not."""
        return self.verdict != "unjudged"

    @classmethod
    def of(cls, right: bool, answer: str, reason: str = "") -> Score:
        return cls(verdict="right" if right else "wrong", answer=answer[:2_000], reason=reason)

    @classmethod
    def no_answer(cls, answer: str, reason: str) -> Score:
        """Of a response in which the scorer finds nothing to compare; `answer` is what it looked at."""
        return cls(verdict="no answer", answer=answer[:2_000], reason=reason)
