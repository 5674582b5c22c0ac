"""Answers compared with accepted ones, each once while the process lives; asked from any thread.

Knows scorers and the loop they work in; knows no run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import lru_cache

from conductor.evaluation.score import Score
from conductor.evaluation.scorers.accepted_answer import check_accepted, score_answer
from conductor.values.accepted import Accepted
from studio.sessions.background_runs import Background

_REMEMBERED = 2_000
"""Answers whose score is remembered: those of some ten of the largest experiments."""


class Marking:
    """Whether answers are right, None if no verdict was reached. Formulas take up to seconds, so each is
    compared in the background.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self._comparison: Callable[[str, Accepted], Future[Score]] = lru_cache(_REMEMBERED)(
            lambda answer, accepted: background.spawn(score_answer(answer, accepted))
        )

    def check(self, accepted: Accepted) -> None:
        """Raise `DataError` where no answer could be right by this check."""
        self._background.spawn(check_accepted(accepted)).result()

    def right(self, answer: str, accepted: Accepted) -> bool | None:
        """Whether an answer is right; waits until it is compared."""
        return _right(self._comparison(answer, accepted).result())

    def within(self, answer: str, accepted: Accepted, *, seconds: float) -> bool | None:
        """Whether an answer is right; None if that takes longer. Raises `WorkerError` as `score_answer`."""
        try:
            return _right(self._comparison(answer, accepted).result(seconds))
        except TimeoutError:
            return None

    async def mark(self, answer: str, accepted: Accepted) -> None:
        """Compare an answer, so that it is known afterwards."""
        await asyncio.wrap_future(self._comparison(answer, accepted))

    def verdicts(self, answers: Mapping[int, str], accepted: Accepted, *, wait: bool) -> dict[int, bool]:
        """By the place of each answer whether it is right; without `wait` only those that are known now."""
        comparisons = {at: self._comparison(answer, accepted) for at, answer in answers.items()}
        marks = {at: _right(score.result()) for at, score in comparisons.items() if wait or score.done()}
        return {at: right for at, right in marks.items() if right is not None}


def _right(score: Score) -> bool | None:
    return score.right if score.is_known else None
