"""What an evaluation took is what the endpoint reported, whatever failed, was asked again or was reused.

The endpoint logs the usage of each of its replies, which differs from that of every other one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import cycle
from pathlib import Path

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import EvaluationSpec, JudgeSpec
from conductor.orchestration.runtime import runtime_of
from conductor.values.total import NOTHING, Total
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import scored_cells, table_of_evaluation
from studio.workbench import Workbench
from tests.support.endpoints.failing_endpoint import FailingEndpoint, Reply, failing_endpoint, refuses, sends

pytestmark = pytest.mark.slow

PROMPT, COMPLETION = 2.0, 8.0
"""US dollars a million tokens."""


@dataclass
class Upstream:
    """Replies that log what they report, None for nothing; `requests` counts all."""

    reported: list[tuple[int, int] | None] = field(default_factory=list)
    requests: int = 0

    def says(self, text: str = "right", *, finish: str = "stop", usage: bool = True) -> Reply:
        """An answer with a usage of its own."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            self.requests += 1
            numbers = (1_000 + 17 * self.requests, 10 + self.requests) if usage else None
            self.reported.append(numbers)
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
            }
            prompt, completion = numbers or (None, None)
            about = {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}} if usage else {}
            sends({"choices": [choice], **about})(handler)

        return reply

    def breaks_off(self) -> Reply:
        """A piece of an answer, and no end."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            self.requests += 1
            self.reported.append(None)
            piece = json.dumps({"choices": [{"delta": {"content": "The"}}]})
            sends(f"data: {piece}\n\n", content_type="text/event-stream")(handler)

        return reply

    def refuses(self, status: int) -> Reply:
        """An error, for which nothing is billed."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            self.requests += 1
            refuses(status)(handler)

        return reply

    @property
    def tokens(self) -> int:
        return sum(sum(each) for each in self.reported if each is not None)

    @property
    def dollars(self) -> float:
        pairs = [each for each in self.reported if each is not None]
        return sum(PROMPT * prompt + COMPLETION * completion for prompt, completion in pairs) / 1e6


def in_turn(*replies: Reply) -> Reply:
    """Each of them once, and then the last one again and again."""
    rest = iter((*replies[:-1],))
    last = cycle(replies[-1:])

    def reply(handler: BaseHTTPRequestHandler) -> None:
        next(rest, next(last))(handler)

    return reply


@pytest.fixture
def endpoint() -> Iterator[FailingEndpoint]:
    with failing_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def bench(endpoint: FailingEndpoint, tmp_path: Path) -> Iterator[Workbench]:
    file = tmp_path / "pool.toml"
    tables = endpoint.pool("one", "two", "judge", retries=1).strip().split("\n\n")
    priced = [f"{table}\nprice_prompt = {PROMPT}\nprice_completion = {COMPLETION}\n" for table in tables]
    priced[0] += 'fallback = "two"\n'
    file.write_text("\n".join(priced), encoding="utf-8")
    runtime = runtime_of(configured_pool(file))
    bench = Workbench(SessionStore.open(f"sqlite:///{tmp_path / 'store.db'}"), lambda: runtime)
    yield bench
    bench.close()


DRAFT = Step(instruction="Draft it.", worker="two")
PLANS = tuple(
    FixedPlan.of(
        f"plan:{word}", word, Workflow.of([DRAFT, Step(instruction=f"{word} it.", worker="two", access=(0,))])
    )
    for word in ("Check", "Improve")
)


@dataclass(frozen=True)
class Course:
    """What the workers and the judge reply in turn, and how often the evaluation is carried out."""

    two: Callable[[Upstream], Sequence[Reply]] = lambda up: [up.says()]
    one: Callable[[Upstream], Sequence[Reply]] = lambda up: [up.says()]
    judge: Callable[[Upstream], Sequence[Reply]] | None = None
    planners: tuple[str, ...] = ("worker:two",)
    repeats: int = 1
    times: int = 1


COURSES = {
    "every answer at once": Course(),
    "several answers to a question": Course(repeats=3),
    "two planners": Course(planners=("worker:two", "worker:one")),
    "a step is refused and asked again": Course(two=lambda up: [up.refuses(503), up.says()]),
    "a fallback answers": Course(
        planners=("worker:one",), one=lambda up: [up.refuses(503), up.refuses(503), up.says()]
    ),
    "a filtered answer counts": Course(
        planners=("worker:one",), one=lambda up: [up.says("", finish="content_filter"), up.says()]
    ),
    "an outage, resumed": Course(two=lambda up: [up.refuses(503), up.refuses(503), up.says()], times=2),
    "a step fails": Course(two=lambda up: [up.says("", finish="content_filter")]),
    "an answer without a report": Course(two=lambda up: [up.says(usage=False), up.says()]),
    "a judge": Course(judge=lambda up: [up.says("VERDICT: right")]),
    "a judge that writes no verdict, resumed": Course(
        judge=lambda up: [up.says("I cannot tell."), up.says("VERDICT: right")], times=2
    ),
    "a judge that fails, resumed": Course(
        judge=lambda up: [up.refuses(500), up.refuses(500), up.says("VERDICT: right")], times=2
    ),
    "a judge without a report, resumed": Course(
        judge=lambda up: [up.says("I cannot tell.", usage=False), up.says("VERDICT: right")], times=2
    ),
    "a judge that is cut off, resumed": Course(
        judge=lambda up: [up.breaks_off(), up.breaks_off(), up.says("VERDICT: right")], times=2
    ),
    "a step that is cut off, resumed": Course(
        two=lambda up: [up.breaks_off(), up.breaks_off(), up.says()], times=2
    ),
    "carried out again, with nothing to do": Course(times=3),
}


def evaluated(
    bench: Workbench, endpoint: FailingEndpoint, course: Course, *, plans: Sequence[FixedPlan] = ()
) -> tuple[str, Upstream, Total]:
    """Carry it out; its id, what the endpoint reported, and what the last progress has."""
    upstream = Upstream()
    replies = {"one": course.one(upstream), "two": course.two(upstream)}
    if course.judge is not None:
        replies["judge"] = course.judge(upstream)
    endpoint.failures = {model: in_turn(*each) for model, each in replies.items()}
    scorer = {"scorer": "exact"} if course.judge is None else {"scorer": "judge"}
    items = tuple(
        Item.model_validate(
            {"id": f"q{at}", "input": f"Is question {at} right?", "target": ("right",), **scorer}
        )
        for at in range(2)
    )
    spec = EvaluationSpec(
        data="",
        digest="",
        planners=course.planners,
        repeats=course.repeats,
        parallel=1,
        judge=None if course.judge is None else JudgeSpec(worker="judge"),
    )
    evaluations = Evaluations(bench)
    id = evaluations.add(DataSet("asked", items), list(course.planners), spec, given_plans=list(plans)).id
    for _ in range(course.times):
        progress = evaluations.run(id)
    return id, upstream, progress.used


@pytest.mark.parametrize("course", COURSES.values(), ids=COURSES)
def test_an_evaluation_took_what_the_endpoint_reported(
    bench: Workbench, endpoint: FailingEndpoint, course: Course
) -> None:
    id, upstream, progress = evaluated(bench, endpoint, course)
    sessions = bench.store.ledger.of_evaluation(id)
    used = sum(sessions.values(), NOTHING)
    assert used.calls == upstream.requests
    assert used.token_sum.least == upstream.tokens
    assert used.dollars.least == pytest.approx(upstream.dollars)
    assert used.tokens_at_least == (None in upstream.reported)
    today = bench.store.sessions.used_since(0)
    assert (today.calls, today.token_sum) == (used.calls, used.token_sum)
    assert today.dollars.least == pytest.approx(upstream.dollars)
    assert (progress.calls, progress.tokens, progress.tokens_at_least) == (
        used.calls,
        used.tokens,
        used.tokens_at_least,
    )
    charged, estimated = bench.store.ledger.charged_for_evaluation(id)
    assert (charged.calls, estimated) == (used.calls, used.tokens_at_least)
    assert charged.tokens >= upstream.tokens
    assert (charged.tokens == upstream.tokens) == (not estimated)
    cells = scored_cells(bench.store, id)
    assert sum(cell.result.paid for cell in cells) == upstream.requests


def test_an_answer_of_another_cell_costs_nothing_now_and_counts_with_what_it_took_then(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    course = Course(planners=("plan:Check", "plan:Improve"))
    id, upstream, _ = evaluated(bench, endpoint, course, plans=PLANS)
    assert upstream.requests == 2 * (2 + 1), "the draft is asked for once"
    cells = scored_cells(bench.store, id)
    paid = {name: sum(cell.result.paid for cell in cells if cell.planner == name) for name in course.planners}
    assert paid == {"plan:Check": 4, "plan:Improve": 2}
    assert sum(bench.store.ledger.of_evaluation(id).values(), NOTHING).tokens == upstream.tokens
    draft, check, improve, *others = [sum(each or ()) for each in upstream.reported]
    rows = table_of_evaluation(bench.store, bench.store.evaluations.find(id)).rows
    means = [row.tokens.value for row in rows[:2] if row.tokens is not None]
    assert means == [(draft + check + sum(others[:2])) / 2, (draft + improve + others[0] + others[2]) / 2]
    assert sum(cell.result.work.total or 0 for cell in cells) > upstream.tokens


def test_a_mean_is_over_the_answers_whose_usage_is_known_and_states_so(
    bench: Workbench, endpoint: FailingEndpoint
) -> None:
    course = COURSES["an answer without a report"]
    id, upstream, _ = evaluated(bench, endpoint, course)
    row = table_of_evaluation(bench.store, bench.store.evaluations.find(id)).rows[0]
    assert row.tokens is not None
    assert row.cost is not None
    assert (row.tokens.value, row.tokens.part, row.cost.part) == (upstream.tokens, "1 of 2", "1 of 2")
