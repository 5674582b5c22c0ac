"""Scores the cells of an evaluation, by the questions' scorers or by the worker that judges.

Knows runs, scorers and the pool; stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from conductor.engine.meter import Meter
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score, answering, score_without_answer
from conductor.evaluation.scorers import score
from conductor.evaluation.scorers.judge import judged
from conductor.evaluation.spec import EvaluationSpec
from conductor.runs.state import RunState
from conductor.values.charge import Charge
from conductor.workers.protocol import Worker
from studio.workbench import Workbench

UNJUDGED = 5
"""A judge that gives no verdict on so many answers one after another ends the evaluation."""

REMEMBERED = 1_000
"""Verdicts that are kept: planners answer a question one after another, so that the last ones are enough."""


class Scoring:
    """The scores of one evaluation. A judge's calls are counted on `meter`."""

    def __init__(self, bench: Workbench, spec: EvaluationSpec, meter: Meter) -> None:
        self._background, self._meter = bench.background, meter
        self._allow_code = spec.allow_code
        self._judge: Worker | None = None if spec.judge is None else bench.pool[spec.judge.worker]
        self._lock = Lock()
        self._unknown: list[Score] = []
        self._judged: dict[tuple[str, str], Score] = {}

    def of(self, item: Item, runs: Sequence[RunState]) -> tuple[Score, Sequence[Charge]]:
        """The score of a session with these runs, and what requests to the judge took.

        Equal answers to a question are judged once. Raises `DataError` and `WorkerError` as `scorers.score`.
        """
        without_answer = score_without_answer(runs)
        if without_answer is not None:
            return without_answer, ()
        answer = answering(runs)[-1].answer or ""
        if self._judge is None or item.scored_by != "judge":
            return self._background.wait(score(answer, item, allow_code=self._allow_code)), ()
        earlier = self._judged.get((item.id, answer))
        if earlier is not None:
            return earlier, ()
        verdict, judging = self._background.wait(judged(answer, item, self._judge, self._meter))
        if judging:
            self._remember((item.id, answer), verdict)
        return verdict, judging

    def _remember(self, key: tuple[str, str], verdict: Score) -> None:
        with self._lock:
            if not verdict.is_known:
                self._unknown.append(verdict)
                return
            self._unknown.clear()
            if len(self._judged) >= REMEMBERED:
                del self._judged[next(iter(self._judged))]
            self._judged[key] = verdict

    @property
    def failure(self) -> str | None:
        """Why the evaluation is to end: its judge gave no verdict, again and again."""
        with self._lock:
            if self._judge is None or len(self._unknown) < UNJUDGED:
                return None
            reason = self._unknown[-1].reason
        name = self._judge.card.name
        return f"The judge {name} gave no verdict on {UNJUDGED} answers one after another: {reason}"
