"""An outage is no answer: it is not scored, in no figure and asked again; a step's own fault is wrong.

The workers are models of an endpoint on the loopback address, asked once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from conductor.errors import WorkerError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.mean import Mean
from conductor.evaluation.plan_sources import FixedPlan, WrittenPlans
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import Verdict
from conductor.evaluation.spec import EvaluationSpec, JudgeSpec
from conductor.evaluation.trials import evaluation_trials
from conductor.orchestration.runtime import runtime_of
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool, configured_pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.edits import WithoutStep
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.background import BackgroundEvaluations
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import resumed_words, scored_cells, table_of_evaluation, table_shape
from studio.evaluation.trackers import planner_scores
from studio.evaluation.trials import VariantKinds, variants_of
from studio.workbench import Workbench
from tests.support.endpoints.failing_endpoint import (
    FailingEndpoint,
    Reply,
    answers,
    failing_endpoint,
    refuses,
    resets,
    sends,
    streams_an_error,
)

pytestmark = pytest.mark.slow

SPEC = EvaluationSpec(data="", digest="", planners=("worker:one",), parallel=1)


@pytest.fixture
def endpoint() -> Iterator[FailingEndpoint]:
    with failing_endpoint() as endpoint:
        yield endpoint


def bench_of(tmp_path: Path, toml: str) -> Workbench:
    file = tmp_path / "pool.toml"
    file.write_text(toml, encoding="utf-8")
    runtime = runtime_of(configured_pool(file))
    return Workbench(SessionStore.open(f"sqlite:///{tmp_path / 'store.db'}"), lambda: runtime)


@pytest.fixture
def bench(endpoint: FailingEndpoint, tmp_path: Path) -> Iterator[Workbench]:
    bench = bench_of(tmp_path, endpoint.pool("one", "two"))
    yield bench
    bench.close()


def questions(count: int, **about: object) -> DataSet:
    return DataSet(
        "asked",
        tuple(
            Item.model_validate(
                {"id": f"q{at}", "input": f"What is question {at}?", "target": (str(at),), **about}
            )
            for at in range(count)
        ),
    )


def verdicts(bench: Workbench, evaluation: str, planner: str) -> list[tuple[Verdict, str]]:
    cells = scored_cells(bench.store, evaluation)
    scores = [cell.result.score for cell in cells if cell.planner == planner]
    return [(score.verdict, score.outage) for score in scores]


KINDS: dict[str, tuple[Reply, Verdict, str]] = {
    "503": (refuses(503, "Service Unavailable"), "unanswered", "503"),
    "500": (refuses(500, "Internal error"), "unanswered", "500"),
    "a proxy's page": (sends("<html><title>Bad Gateway</title></html>", status=502), "unanswered", "502"),
    "a login page": (sends("<html><title>Log in</title></html>", content_type="text/html"), "unanswered",
                     "unreadable reply"),
    "overloaded": (refuses(529, "Overloaded"), "unanswered", "529"),
    "limited": (refuses(429, "Rate limit reached"), "unanswered", "429"),
    "no quota": (refuses(429, "You exceeded your quota", code="insufficient_quota"), "unanswered", "429"),
    "no credit": (refuses(402, "Payment required"), "unanswered", "402"),
    "no credit by 400": (refuses(400, "Your credit balance is too low"), "unanswered", "400"),
    "wrong key": (refuses(401, "Incorrect API key provided"), "unanswered", "401"),
    "forbidden": (refuses(403, "Not allowed in your region"), "unanswered", "403"),
    "no such model": (refuses(404, "The model does not exist"), "unanswered", "404"),
    "reset": (resets, "unanswered", "connection lost"),
    "an error in the stream": (streams_an_error(type="overloaded_error", message="Overloaded"), "unanswered",
                               "server error"),
    "broken off": (sends('data: {"choices": [{"delta": {"content": "0"}}]}\n\n',
                         content_type="text/event-stream"), "unanswered", "connection lost"),
    "too long": (refuses(400, "maximum context length is 8", code="context_length_exceeded"), "failed", ""),
    "bad request": (refuses(400, "temperature must be less than 2"), "failed", ""),
    "filtered": (refuses(400, "The prompt was filtered", code="content_filter"), "failed", ""),
    "held back": (answers("", finish="content_filter"), "failed", ""),
    "refused": (answers("I cannot answer that.", finish="refusal"), "refused", ""),
    "cut off": (answers("The answer to this is", finish="length"), "wrong", ""),
    "empty": (answers(""), "failed", ""),
    "wrong": (answers("Answer: 12"), "wrong", ""),
    "right": (answers("Answer: 0"), "right", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_failure_is_scored_or_not(bench: Workbench, endpoint: FailingEndpoint, name: str) -> None:
    reply, verdict, outage = KINDS[name]
    endpoint.failures = {0: reply}
    evaluation = Evaluations(bench).add(questions(1), ["worker:one"], SPEC).id
    Evaluations(bench).run(evaluation)
    assert verdicts(bench, evaluation, "worker:one") == [(verdict, outage)]
    row = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation)).rows[0]
    assert (row.questions, row.unanswered) == ((0, 1) if verdict == "unanswered" else (1, 0))
    endpoint.failures, endpoint.numbers[:] = {}, []
    Evaluations(bench).run(evaluation)
    assert endpoint.numbers == ([0] if verdict == "unanswered" else [])
    if verdict == "unanswered":
        assert verdicts(bench, evaluation, "worker:one") == [("right", "")]


@pytest.mark.parametrize(
    ("base_url", "outage"),
    [
        ("http://127.0.0.1:9/v1", "no connection"),
        ("http://nowhere.invalid/v1", "no connection"),
    ],
)
def test_an_endpoint_that_is_not_reached_answers_nothing(tmp_path: Path, base_url: str, outage: str) -> None:
    bench = bench_of(
        tmp_path, f'[[worker]]\nname = "one"\nmodel = "m"\nretries = 0\nbase_url = "{base_url}"\n'
    )
    evaluation = Evaluations(bench).add(questions(1), ["worker:one"], SPEC).id
    Evaluations(bench).run(evaluation)
    assert verdicts(bench, evaluation, "worker:one") == [("unanswered", outage)]
    bench.close()


def test_an_endpoint_that_is_too_slow_answers_nothing(tmp_path: Path, endpoint: FailingEndpoint) -> None:
    endpoint.failures = {0: lambda _: time.sleep(2)}
    bench = bench_of(tmp_path, endpoint.pool("one", seconds=0.5))
    evaluation = Evaluations(bench).add(questions(1), ["worker:one"], SPEC).id
    Evaluations(bench).run(evaluation)
    assert verdicts(bench, evaluation, "worker:one") == [("unanswered", "timed out")]
    bench.close()


def test_the_table_names_what_was_not_answered_and_is_complete_once_that_is_asked_again(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    endpoint.failures = {("one", at): refuses(503) for at in (1, 3, 5)} | {("one", 7): resets}
    background = BackgroundEvaluations(bench)
    evaluation = Evaluations(bench).add(questions(10), ["worker:one", "worker:two"], SPEC).id
    progress = Evaluations(bench).run(evaluation)
    assert (progress.failure, progress.done, progress.unanswered) == (None, 20, 4)
    record = bench.store.evaluations.find(evaluation)
    assert record.reason == (
        "Done, but 4 of 20 not answered (503 (3), connection lost (1)); resume asks for these again."
    )
    assert background.state(record) == "incomplete"
    size = bench.store.evaluations.sizes()[evaluation]
    assert (size.sessions, size.scored) == (20, 16)
    table = table_of_evaluation(bench.store, record)
    one, two, router = table.rows
    assert "worker:one: 4 of 10 not answered: 503 (3), connection lost (1)." in remarks(table)
    assert (one.accuracy, one.answered_words, one.valid_plans, one.calls.value) == (1.0, "6 of 10", 6, 1)
    assert (two.accuracy, two.answered_words, router.questions) == (1.0, "10", 6)
    assert two.difference is not None
    assert (two.difference.difference, two.difference.questions, two.difference.p) == (0.0, 6, 1.0)
    assert two.bounds is not None
    assert (two.bounds[0].difference, two.bounds[1].difference) == (0.0, 0.4)
    shape = table_shape(record, table)
    assert (shape["planners"][0]["unanswered"], shape["planners"][0]["questions_asked"]) == (4, 10)
    assert shape["planners"][0]["outages"] == {"503": 3, "connection lost": 1}
    metrics = planner_scores(bench.store, record)[0].metrics
    assert (metrics["unanswered"], metrics["outages/503"], metrics["accuracy"]) == (4, 3, 1)
    words = resumed_words(bench.store, record)
    assert words == "answers: 4 asked again (503 (3), connection lost (1)), 16 left as they are"
    endpoint.failures, endpoint.numbers[:] = {}, []
    progress = Evaluations(bench).run(evaluation)
    assert (progress.done, progress.unanswered, sorted(endpoint.numbers)) == (20, 0, [1, 3, 5, 7])
    record = bench.store.evaluations.find(evaluation)
    assert (record.reason, background.state(record)) == (None, "done")
    table = table_of_evaluation(bench.store, record)
    assert [row.answered_words for row in table.rows] == ["10", "10", "10"]
    assert not any("not answered" in each for each in remarks(table))
    background.close()


def test_only_the_step_that_was_lost_is_called_again(bench: Workbench, endpoint: FailingEndpoint) -> None:
    workflow = Workflow.of(
        [
            Step(instruction="Think.", worker="one"),
            Step(instruction="Answer.", worker="two", access=(0,)),
        ]
    )
    plan = FixedPlan.of("plan:chain", "chain", workflow)
    endpoint.failures = {("two", 1): refuses(503)}
    evaluations = Evaluations(bench)
    evaluation = evaluations.add(questions(3), [plan.name], SPEC, given_plans=[plan]).id
    evaluations.run(evaluation)
    assert [each for each, _ in verdicts(bench, evaluation, plan.name)] == ["right", "unanswered", "right"]
    endpoint.failures, endpoint.numbers[:] = {}, []
    evaluations.run(evaluation)
    assert endpoint.numbers == [1], "the first step of question 1 has its output"
    row = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation)).rows[0]
    assert (row.right, row.calls.value, row.steps.value) == (3, 2, 2)


def test_each_repeat_counts_and_is_asked_again_for_itself(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    calls = iter(range(100))

    def every_third(handler: BaseHTTPRequestHandler) -> None:
        (refuses(503) if next(calls) % 3 == 0 else answers("Answer: 1"))(handler)

    endpoint.failures = {1: every_third}
    spec = SPEC.model_copy(update={"repeats": 3})
    evaluation = Evaluations(bench).add(questions(2), ["worker:one"], spec).id
    Evaluations(bench).run(evaluation)
    row = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation)).rows[0]
    assert (row.questions, row.answers, row.right, row.unanswered) == (2, 5, 5, 1)
    assert row.pass_at == {1: 1.0, 2: 1.0}
    endpoint.failures, endpoint.numbers[:] = {}, []
    Evaluations(bench).run(evaluation)
    assert endpoint.numbers == [1]
    row = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation)).rows[0]
    assert (row.answers, row.right, row.unanswered) == (6, 6, 0)


PLAN = "model_id = [0]\nsubtasks = ['Answer.']\naccess_list = [[]]"
PLANNER = '[conductor]\nmodel = "planner"\nbase_url = "{}"\nretries = 0\nconstrain = "none"\n\n'


@pytest.fixture
def planned(endpoint: FailingEndpoint, tmp_path: Path) -> Iterator[Workbench]:
    """A workbench whose Conductor is a model of the endpoint, too."""
    endpoint.failures = {"planner": answers(PLAN)}
    bench = bench_of(tmp_path, PLANNER.format(endpoint.base_url) + endpoint.pool("one", "two"))
    yield bench
    bench.close()


def test_a_planner_that_is_not_reached_wrote_no_bad_plan(
    planned: Workbench, endpoint: FailingEndpoint
) -> None:
    works = dict(endpoint.failures)
    endpoint.failures = {
        **works,
        ("planner", 1): refuses(503),
        ("planner", 2): answers("I would rather not."),
    }
    evaluations, spec = Evaluations(planned), SPEC.model_copy(update={"settings": Settings(attempts=1)})
    evaluation = evaluations.add(questions(4), ["conductor"], spec).id
    evaluations.run(evaluation)
    assert verdicts(planned, evaluation, "conductor") == [
        ("right", ""), ("unanswered", "503"), ("no plan", ""), ("right", ""),
    ]  # fmt: skip
    record = planned.store.evaluations.find(evaluation)
    row = table_of_evaluation(planned.store, record).rows[0]
    assert (row.answers, row.valid_plans, row.verdicts["no plan"]) == (3, 2, 1)
    again = evaluations.add_on(record, [WrittenPlans.of(record.id, "conductor")]).id
    failure = str(evaluations.run(again).failure)
    assert "conductor could not be reached for question 2 (503)" in failure
    assert f"continue with `evaluate resume {record.id[:8]}` first" in failure
    endpoint.failures, endpoint.numbers[:] = works, []
    evaluations.run(evaluation)
    assert endpoint.numbers == [1, 1], "the plan of question 1, then its step"
    row = table_of_evaluation(planned.store, record).rows[0]
    assert (row.answers, row.right, row.valid_plans, row.calls.value) == (4, 3, 3, 1.75)
    assert row.planning_tokens == Mean(7, 4, 4)


def test_what_an_earlier_round_answered_is_not_scored_in_place_of_the_last(
    planned: Workbench, endpoint: FailingEndpoint
) -> None:
    plans = iter([answers(PLAN), refuses(503)])

    def in_turn(handler: BaseHTTPRequestHandler) -> None:
        next(plans)(handler)

    endpoint.failures = {"planner": in_turn}
    spec = SPEC.model_copy(update={"settings": Settings(rounds=2)})
    evaluation = Evaluations(planned).add(questions(1), ["conductor"], spec).id
    Evaluations(planned).run(evaluation)
    assert verdicts(planned, evaluation, "conductor") == [("unanswered", "503")]
    keep = "It is good.\n\nmodel_id = []\nsubtasks = []\naccess_list = []"
    endpoint.failures, endpoint.numbers[:] = {"planner": answers(keep)}, []
    Evaluations(planned).run(evaluation)
    assert verdicts(planned, evaluation, "conductor") == [("right", "")]
    assert endpoint.numbers == [0], "the second plan alone"


def test_a_judge_that_is_not_reached_leaves_the_evaluation_incomplete(
    endpoint: FailingEndpoint, tmp_path: Path
) -> None:
    bench = bench_of(tmp_path, endpoint.pool("one", "judge"))
    endpoint.failures = {("judge", 1): refuses(503), "judge": answers("VERDICT: right")}
    spec = SPEC.model_copy(update={"judge": JudgeSpec(worker="judge")})
    evaluation = Evaluations(bench).add(questions(3, scorer="judge"), ["worker:one"], spec).id
    Evaluations(bench).run(evaluation)
    record = bench.store.evaluations.find(evaluation)
    assert record.reason == "Done, but 1 of 3 not judged; resume asks for these again."
    assert table_of_evaluation(bench.store, record).rows[0].answered_words == "2 of 3"
    assert resumed_words(bench.store, record) == "answers: 1 judged again, 2 left as they are"
    endpoint.failures, endpoint.numbers[:] = {"judge": answers("VERDICT: right")}, []
    Evaluations(bench).run(evaluation)
    assert endpoint.numbers == [1]
    assert bench.store.evaluations.find(evaluation).reason is None
    bench.close()


def test_an_outage_from_the_first_question_on_ends_the_evaluation_and_resume_asks_all(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    endpoint.failures = {"one": refuses(503)}
    evaluation = Evaluations(bench).add(questions(20), ["worker:one"], SPEC).id
    failure = Evaluations(bench).run(evaluation).failure
    assert failure is not None
    assert "worker:one answered none of the first 5 questions" in failure
    calls = len(endpoint.numbers)
    assert calls < 20
    record = bench.store.evaluations.find(evaluation)
    assert resumed_words(bench.store, record) == (
        f"answers: {20 - calls} asked for the first time, {calls} asked again (503)"
    )
    endpoint.failures, endpoint.numbers[:] = {}, []
    assert Evaluations(bench).run(evaluation).failure is None
    assert sorted(endpoint.numbers) == list(range(20))


def test_a_sequential_evaluation_that_is_decided_asks_only_what_was_not_answered(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    endpoint.failures = {("two", at): answers("Answer: none") for at in range(120)}
    lost = next(iter(SPEC.model_copy(update={"sequential": True}).order(120)))
    endpoint.failures |= {("one", lost): refuses(503)}  # type: ignore[operator]
    spec = SPEC.model_copy(update={"sequential": True})
    evaluation = Evaluations(bench).add(questions(120), ["worker:one", "worker:two"], spec).id
    progress = Evaluations(bench).run(evaluation)
    assert progress.failure is None
    assert progress.done < progress.cells
    endpoint.failures, endpoint.numbers[:] = {}, []
    Evaluations(bench).run(evaluation)
    assert endpoint.numbers == [lost]


def trial(tmp_path: Path, *, lost: frozenset[int]) -> tuple[bool | None, str | None]:
    """Whether leaving out the idle step of a plan is not worse, and which variant was confirmed."""

    def answer(request: Request) -> str:
        text = request.messages[-1].content
        number = int(text.rsplit("question ", 1)[1].split("?")[0])
        if number in lost and "Answer again." in text:
            raise WorkerError("It is down.", outage="503")
        return str(number)

    pool = Pool(workers=(SimulatedWorker("one", answer=answer, tokens=5),))
    store = SessionStore.open(f"sqlite:///{tmp_path / f'{len(lost)}.db'}")
    bench = Workbench.over(store, pool=pool, conductor=runtime_of(pool).conductor)
    workflow = Workflow.of(
        [
            Step(instruction="Answer.", worker="one"),
            Step(instruction="Answer again.", worker="one", access=(0,)),
        ]
    )
    base = FixedPlan.of("plan:chain", "chain", workflow)
    plans = variants_of(base, pool.names, VariantKinds(edges=False, steps=True, workers=False))
    spec = SPEC.model_copy(update={"margin": 0.1})
    record = Evaluations(bench).add(questions(80), [each.name for each in plans], spec, given_plans=plans)
    Evaluations(bench).run(record.id)
    spec = store.evaluations.find(record.id).spec
    rows = evaluation_trials(spec, scored_cells(store, record.id)).rows
    (row,) = (row for row in rows if row.edits == (WithoutStep(step=0),))
    bench.close()
    return row.not_worse, spec.confirmed


def test_a_trial_is_undecided_while_answers_are_missing_that_could_change_its_verdict(tmp_path: Path) -> None:
    not_worse, confirmed = trial(tmp_path, lost=frozenset())
    assert (not_worse, confirmed is not None) == (True, True)
    assert trial(tmp_path, lost=frozenset(range(20))) == (None, None)
