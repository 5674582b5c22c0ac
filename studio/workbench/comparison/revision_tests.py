"""Compares a session's revisions on the team's tests, from what is stored: nothing is called for it.

The session's own question is compared with the answers of its runs; all others, and what takes a judge, count
where an evaluation asked them of that revision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conductor.errors import WorkerError
from conductor.evaluation.plan_sources import PLAN
from conductor.evaluation.scorers.accepted_answer import accepted_of
from conductor.evaluation.team_tests import TeamTest
from storage.records import RunRecord
from studio.workbench.bench import Bench
from studio.workbench.comparison.marking import Marking

Outcome = Literal["right", "wrong", "unjudged", "unasked"]

_SECONDS = 2.0
"""How long a formula is waited for; until it is compared its test counts as not judged."""


@dataclass(frozen=True, slots=True)
class Passed:
    """How many tests have which outcome for a revision; `unjudged` were answered, and that is all that is
    known.
    """

    right: int
    wrong: int
    unjudged: int
    unasked: int

    @property
    def verdicts(self) -> int:
        return self.right + self.wrong

    @property
    def open(self) -> int:
        return self.unjudged + self.unasked

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Passed:
        return cls(*(outcomes.count(each) for each in ("right", "wrong", "unjudged", "unasked")))


class RevisionTests:
    """The team's tests as a session's revisions do on them."""

    def __init__(self, bench: Bench) -> None:
        self._store = bench.store
        self._marking = Marking(bench.background)

    def of_session(self, session: str) -> Mapping[str, Passed]:
        """By the id of each revision that was tested, on all tests of the sets that have its question;
        nothing where no set has it.
        """
        question = self._store.sessions.find(session).query
        own = self._store.tests.of_question(question)
        if not own:
            return {}
        tests = [test for same in own for test in self._store.tests.of_set(same.data_set)]
        answers = _answers(self._store.runs.of_session(session))
        by_evaluation = dict(self._outcomes_of(session, {test.data_set for test in own}))
        passes = {}
        for revision in self._store.revisions.history(session):
            outcomes = [
                self._outcome(
                    test,
                    answer=answers.get(revision.id) if test in own else None,
                    elsewhere=by_evaluation.get(
                        (f"{PLAN}{session[:8]}@{revision.number}", test.id, test.scorer)
                    ),
                )
                for test in tests
            ]
            if any(each != "unasked" for each in outcomes):
                passes[revision.id] = Passed.of(outcomes)
        return passes

    def _outcome(self, test: TeamTest, *, answer: str | None, elsewhere: Outcome | None) -> Outcome:
        accepted = accepted_of(test.item)
        if answer is None or accepted is None:
            return elsewhere or ("unasked" if answer is None else "unjudged")
        try:
            right = self._marking.within(answer, accepted, seconds=_SECONDS)
        except WorkerError:
            # This system cannot compare formulas.
            right = None
        return "unjudged" if right is None else "right" if right else "wrong"

    def _outcomes_of(self, session: str, sets: set[str]) -> Iterator[tuple[tuple[str, str, str], Outcome]]:
        """By planner, test and check what evaluations of the session's revisions found, the newest last.

        Of several answers to a question one that is wrong counts.
        """
        mine = f"{PLAN}{session[:8]}@"
        for record in reversed(self._store.evaluations.listed()):
            planners = {name for name in record.spec.planners if name.startswith(mine)}
            if record.spec.data not in sets or not planners:
                continue
            items = self._store.evaluations.items(record.id, damaged=True)
            outcomes: dict[tuple[str, str, str], set[Outcome]] = {}
            for cell in self._store.evaluations.cells(record.id):
                if cell.planner in planners and cell.result is not None:
                    score, item = cell.result.score, items[cell.item]
                    if score.unanswered:
                        continue
                    outcome: Outcome = (
                        "unjudged" if not score.is_known else "right" if score.right else "wrong"
                    )
                    outcomes.setdefault((cell.planner, item.id, item.scored_by), set()).add(outcome)
            for key, each in outcomes.items():
                yield (
                    key,
                    "wrong" if "wrong" in each else "right" if "right" in each else "unjudged",
                )


def _answers(runs: Sequence[RunRecord]) -> Mapping[str, str]:
    """By revision the answer of its newest finished run; `runs` are given newest first."""
    ended = [run for run in reversed(runs) if run.status == "finished" and run.answer is not None]
    return {run.revision: run.answer or "" for run in ended}
