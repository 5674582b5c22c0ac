"""A score: whether a response is right, what was taken as its answer, and why. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from conductor.values.messages import Value

Verdict = Literal["right", "wrong", "no plan", "failed", "refused", "unjudged"]
"""Only `right` counts as right. `no plan`: the planner wrote no valid one; `failed`: a step failed or the run
did not finish; `refused`: the answer declines to answer. `unjudged`: the judge gave no verdict, so that it is
unknown; such an answer counts neither as right nor as wrong."""


WITHOUT_VERDICT: Mapping[Verdict, str] = {
    "no plan": "without a plan",
    "failed": "failed",
    "refused": "declined",
    "unjudged": "not judged",
}
"""Words for answers that were compared with nothing; all but those not judged count as wrong."""


class Score(Value):
    """`answer` is what was compared, "" where there is none; `reason` is why, where that is not plain."""

    verdict: Verdict
    answer: str = ""
    reason: str = ""

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def known(self) -> bool:
        """Whether it is known to be right or not."""
        return self.verdict != "unjudged"

    @classmethod
    def of(cls, right: bool, answer: str, reason: str = "") -> Score:
        return cls(verdict="right" if right else "wrong", answer=answer[:2_000], reason=reason)
