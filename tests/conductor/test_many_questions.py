"""Many questions in one call: side by side, on one budget that holds, and scored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from conductor import (
    Budget,
    ConductorError,
    DataError,
    FunctionWorker,
    Item,
    Pool,
    QueryError,
    Request,
    Score,
    Step,
    Workflow,
    WorkflowError,
    aevaluate,
    batch,
    built_in_pool,
    evaluate,
)
from conductor.values.messages import Completion, Usage
from conductor.workers.protocol import WorkerCard

ECHO = Workflow.of([Step(instruction="repeat", worker="echo")])
OTHER = ECHO.with_worker(0, "no")


class Metered:
    """Repeats the last character of the query; reports 100 tokens, and counts how many work at once."""

    card = WorkerCard(name="echo", kind="model", strengths="", model="m")

    def __init__(self) -> None:
        self.calls, self.at_once, self.most = 0, 0, 0

    async def stream(self, request: Request):
        self.calls, self.at_once = self.calls + 1, self.at_once + 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        usage = Usage(prompt_tokens=60, completion_tokens=40)
        yield Completion(text=request.query[-1], usage=usage)


@pytest.fixture
def echo() -> Metered:
    return Metered()


@pytest.fixture
def pool(echo: Metered) -> Pool:
    return Pool(workers=(echo, FunctionWorker(lambda _: "no", name="no")))


def test_answers_come_in_the_order_of_the_queries(echo: Metered, pool: Pool) -> None:
    events: list[int] = []
    runs = batch(
        [f"q{at}" for at in range(9)], workflow=ECHO, pool=pool, parallel=3,
        on_event=lambda at, _: events.append(at),
    )  # fmt: skip
    assert [run.answer for run in runs] == [str(at) for at in range(9)]
    assert echo.most == 3
    assert set(events) == set(range(9))


@pytest.mark.parametrize(
    ("budget", "answers"), [(Budget(calls=4), 4), (Budget(tokens=1_000), None), (Budget(seconds=60), 30)]
)
def test_one_budget_holds_for_all(echo: Metered, pool: Pool, budget: Budget, answers: int | None) -> None:
    runs = batch([f"q{at}" for at in range(30)], workflow=ECHO, pool=pool, parallel=8, budget=budget)
    finished = [run for run in runs if run.status == "finished"]
    assert {run.status for run in runs} <= {"finished", "over_budget"}
    if answers is None:
        assert 0 < 100 * echo.calls <= 1_000
    else:
        assert len(finished) == echo.calls == answers


def test_what_the_budget_leaves_without_a_plan_is_over_too() -> None:
    runs = batch([f"What is {at} + 1?" for at in range(9)], pool=built_in_pool(), budget=Budget(calls=5))
    assert {(run.status, run.workflow is None) for run in runs} >= {
        ("finished", False),
        ("over_budget", True),
    }
    assert not any(run.live for run in runs)


@pytest.mark.parametrize(
    ("queries", "workflow", "error"),
    [(["q", ""], ECHO, QueryError), (["q"], ECHO.with_worker(0, "nobody's"), WorkflowError)],
)
def test_a_mistake_is_named_before_the_first_call(
    echo: Metered, pool: Pool, queries: list[str], workflow: Workflow, error: type[ConductorError]
) -> None:
    with pytest.raises(error):
        batch(queries, workflow=workflow, pool=pool)
    assert echo.calls == 0


async def _async_scorer(response: str, item: Item) -> bool:
    return response == item.target[0]


def _broken(response: str, item: Item) -> bool:
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("scorer", "verdicts"),
    [
        (lambda text, item: text == item.target[0], ["right", "wrong", "wrong", "wrong"]),
        (_async_scorer, ["right", "wrong", "wrong", "wrong"]),
        (lambda *_: Score(verdict="refused"), ["refused"] * 4),
        ("contains", ["right", "wrong", "wrong", "wrong"]),
        (None, ["right", "wrong", "wrong", "wrong"]),
        (_broken, ["unjudged"] * 4),
    ],
)
def test_answers_are_scored_by_a_function_a_name_or_the_items(
    pool: Pool, scorer: Callable[[str, Item], bool] | str | None, verdicts: list[str]
) -> None:
    questions = [("q1", "1"), Item(id="b", input="q2", target=("3",))]
    scores = evaluate(questions, {"own": ECHO, "other": OTHER}, scorer=scorer, pool=pool)
    assert [(each.planner, each.item.id) for each in scores.answers] == [
        ("own", "1"), ("other", "1"), ("own", "b"), ("other", "b"),
    ]  # fmt: skip
    assert [each.score.verdict for each in scores.answers] == verdicts
    if verdicts[0] == "right":
        assert (scores.accuracy(), scores.accuracy("other")) == (0.5, 0.0)
        assert repr(scores) == "<Scores: own 1 of 2 right, other 0 of 2 right>"


def test_what_planners_have_in_common_is_called_once_and_counts_for_each(echo: Metered, pool: Pool) -> None:
    scores = asyncio.run(aevaluate([("q1", "1")], {"a": ECHO, "b": ECHO}, pool=pool))
    assert echo.calls == 1
    first, second = scores.table.rows
    assert first.tokens == second.tokens
    assert first.tokens is not None
    assert first.tokens.value == 100


def test_what_the_budget_left_unanswered_is_neither_right_nor_wrong(pool: Pool) -> None:
    scores = evaluate(
        [("q1", "1"), ("q2", "2")], {"own": ECHO}, pool=pool, budget=Budget(calls=1), parallel=1
    )
    assert [each.score.verdict for each in scores.answers] == ["right", "unanswered"]
    assert scores.accuracy() == 1.0
    with pytest.raises(DataError, match="no planner 'x'"):
        scores.accuracy("x")


@pytest.mark.parametrize(
    ("questions", "reason"),
    [
        ([], "Give one question"),
        ([("q",)], "Question 1 is no item"),
        ([("q", "1"), {"input": "q"}], "Question 2 is no item: target"),
        ([{"input": "q", "target": "1", "scorer": "nope"}], "there is no scorer 'nope'"),
    ],
)
def test_a_question_that_is_none_is_named(pool: Pool, questions: list, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        evaluate(questions, {"own": ECHO}, pool=pool)
