"""An answer that could not be compared is neither right nor wrong to a page."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

import pytest

from conductor.evaluation.score import Score
from conductor.values.accepted import Accepted
from studio.workbench.comparison import marking
from studio.workbench.comparison.marking import Marking

ACCEPTED = Accepted(target=("391",), check="number")


class AtOnce:
    """A background that does its work before it returns."""

    def spawn(self, work: Coroutine[Any, Any, Score]) -> Future[Score]:
        future: Future[Score] = Future()
        future.set_result(asyncio.run(work))
        return future


def test_an_answer_without_a_verdict_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(answer: str, accepted: Accepted) -> Score:
        return Score(verdict="unjudged" if answer == "lost" else "wrong")

    monkeypatch.setattr(marking, "score_answer", lost)
    marks = Marking(AtOnce())  # type: ignore[arg-type]
    assert marks.right("lost", ACCEPTED) is None
    assert marks.within("lost", ACCEPTED, seconds=60) is None
    assert marks.right("400", ACCEPTED) is False
    assert marks.verdicts({0: "lost", 1: "400"}, ACCEPTED, wait=True) == {1: False}
