"""A session's revisions on the team's tests: what its runs and evaluations show, without a call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor.evaluation.score import Score
from conductor.evaluation.spec import EvaluationSpec, JudgeSpec
from conductor.evaluation.team_tests import TeamTest, team_set
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.team_tests import TeamTests
from studio.workbench import Workbench
from tests.support.runs.waiting import until
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    workers = (
        SimulatedWorker(name="a", answer="Answer: 42"),
        SimulatedWorker(name="b", answer="Answer: 43"),
        SimulatedWorker(name="judge", answer="VERDICT: right"),
        SimulatedWorker(name="silent", answer="Hm."),
    )
    bench = Workbench.over(SessionStore.open(url), pool=Pool(workers=workers), conductor=OfflineConductor())
    yield bench
    bench.close()


@pytest.fixture
def session(bench: Workbench) -> str:
    """One revision that answers 42, and one that answers 43; each was run."""
    session = bench.ask("What is 6 * 7?").id
    for worker in ("a", "b"):
        bench.editing.edit(session, workflow_of([], worker=worker), note=worker)
        bench.running.start(session)
        bench.activities.wait(session)
    return session


def counts(bench: Workbench, session: str) -> list[tuple[int, int, int, int] | None]:
    """Right, wrong, not judged and not asked of each revision, oldest first."""
    results = bench.tests.of_session(session)
    return [
        None if (one := results.get(each.id)) is None else (one.right, one.wrong, one.unjudged, one.unasked)
        for each in bench.store.revisions.history(session)
    ]


def keep(bench: Workbench, id: str, question: str, accepted: str = "42", scorer: str = "number") -> TeamTest:
    return bench.store.tests.add(
        TeamTest.model_validate(
            {"id": id, "data_set": "team", "question": question, "accepted": accepted, "scorer": scorer}
            | {"created_at": 0}
        )
    )


def evaluated(bench: Workbench, session: str, *, judge: str | None = None) -> None:
    tests = team_set("team", bench.store.tests.of_set("team"))
    judging = None if judge is None else JudgeSpec(worker=judge)
    spec = EvaluationSpec(data="", digest="", planners=("conductor",), judge=judging)
    evaluations = Evaluations(bench)
    evaluations.run(evaluations.add(tests, [f"plan:{session}@1"], spec).id)


def test_without_a_test_of_the_question_nothing_is_counted(bench: Workbench, session: str) -> None:
    keep(bench, "other", "What is 6 + 7?")
    assert counts(bench, session) == [None, None]


@pytest.mark.parametrize("scorer", ["number", "contains", "mathematics"])
def test_the_answers_of_runs_are_compared_with_the_test_of_the_question(
    bench: Workbench, session: str, scorer: str
) -> None:
    keep(bench, "own", "What is 6 * 7?", scorer=scorer)
    # A formula that was not compared in time is open; it is known later.
    until(lambda: counts(bench, session) != [(1, 0, 0, 0), (0, 0, 1, 0)])
    assert counts(bench, session) == [(1, 0, 0, 0), (0, 1, 0, 0)]
    bench.editing.edit(session, workflow_of([], worker="silent"), note="not run")
    assert counts(bench, session)[2] is None


def test_what_takes_a_judge_is_not_judged_and_not_wrong(bench: Workbench, session: str) -> None:
    TeamTests(bench.store).keep(session, scorer="judge")
    assert counts(bench, session) == [(0, 0, 1, 0), (0, 0, 1, 0)]
    assert bench.store.evaluations.listed() == ()


def test_evaluations_show_how_a_revision_does_on_the_other_tests_of_the_set(
    bench: Workbench, session: str
) -> None:
    keep(bench, "own", "What is 6 * 7?")
    keep(bench, "same", "What is 40 + 2?")
    keep(bench, "else", "What is 6 + 7?", accepted="13")
    keep(bench, "judged", "Which number?", scorer="judge")
    assert counts(bench, session) == [(1, 0, 0, 3), (0, 1, 0, 3)]
    evaluated(bench, session, judge="silent")
    assert counts(bench, session) == [(2, 1, 1, 0), (0, 1, 0, 3)]
    evaluated(bench, session, judge="judge")
    assert counts(bench, session) == [(3, 1, 0, 0), (0, 1, 0, 3)]


def test_a_test_that_an_outage_left_unanswered_is_not_asked_yet(bench: Workbench, session: str) -> None:
    keep(bench, "own", "What is 6 * 7?")
    keep(bench, "same", "What is 40 + 2?")
    evaluated(bench, session)
    (record,) = bench.store.evaluations.listed()
    assert counts(bench, session)[0] == (2, 0, 0, 0)
    for cell in bench.store.evaluations.cells(record.id):
        assert cell.result is not None
        lost = cell.result.model_copy(update={"score": Score(verdict="unanswered", outage="503")})
        bench.store.evaluations.end_cell(cell.answered_in, lost, ())
    assert counts(bench, session)[0] == (1, 0, 0, 1)
