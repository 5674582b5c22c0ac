"""A planner by its file plans as its questions taught it, and hands over what is like none of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor.baselines.encoder import Encoder
from conductor.baselines.named import planner_named
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import (
    PlannerFile,
    TriedPlan,
    TriedQuestion,
    differences,
    read_planner,
    write_planner,
)
from conductor.baselines.planner_file.planner_texts import PlannerTexts
from conductor.errors import FormatError, PlanError
from conductor.planner.conductor import Conductor, OutgoingPrompt, PlanRequest, SolvedExample
from conductor.planner.planner import plan
from conductor.planner.prompt.prompt import HOW_TO_PLAN, plan_messages
from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.events import PlanningFailed, WorkflowPlanned
from conductor.values.messages import Completion, Delta, Message, Part, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import EmbeddingsTable
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import HandedOver, PlanReport
from tests.support.cases.planner_cases import planner_of, single
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text
from tests.support.runs.prompted_conductor import PromptedConductor

Planners = Callable[..., FilePlanner]

CITIES = [f"What is the capital of {country}?" for country in ("Peru", "Chile", "Japan", "Egypt")]
SUMS = [f"Add {n} and {n + 1}." for n in range(4)]
FILE = planner_of(
    plans=[single("alpha"), single("beta")],
    questions=[
        *(TriedQuestion(question=question, right=(0,), wrong=(1,)) for question in CITIES),
        *(TriedQuestion(question=question, right=(1,), wrong=(0,)) for question in SUMS),
    ],
)
POOL = Pool(workers=(SimulatedWorker("alpha"), SimulatedWorker("beta")))


class WritingConductor:
    """Writes one plan, and remembers what it was asked."""

    card = WorkerCard(name="writer", kind="model", strengths="plans", model="m")
    dialect = "any"

    def __init__(self) -> None:
        self.requests: list[PlanRequest] = []

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        self.requests.append(request)
        text = 'model_id = [1]\nsubtasks = ["Answer it."]\naccess_list = [[]]'
        yield Delta(text=text)
        yield Completion(text=text, usage=Usage(prompt_tokens=5, completion_tokens=5))


async def report_of(planner: Any, query: str, pool: Pool = POOL, **more: Any) -> PlanReport:
    request = PlanRequest(query=query, workers=tuple(pool.cards[name] for name in pool.names), **more)
    async for event in plan(request, conductor=planner, run="r"):
        if isinstance(event, PlanningFailed):
            raise PlanError(event.message)
        if isinstance(event, WorkflowPlanned):
            return event.report
    raise AssertionError("planning has an end")


@pytest.fixture
def planner(tmp_path: Path) -> Planners:
    def of(file: PlannerFile = FILE, base: Conductor | None = None, pool: Pool = POOL) -> FilePlanner:
        write_planner(file, tmp_path / "planner.json")
        return FilePlanner("planner:mine", tmp_path / "planner.json", base or OfflineConductor(), pool)

    return of


@pytest.mark.parametrize(
    ("query", "worker"), [("What is the capital of Kenya?", "alpha"), ("Add 30 and 40.", "beta")]
)
async def test_the_nearest_questions_plan_is_taken_with_the_reason(
    planner: Planners, query: str, worker: str
) -> None:
    report = await report_of(planner(), query)
    assert report.workflow is not None
    assert [step.worker for step in report.workflow.steps] == [worker]
    assert "right on 4 of 4 of the 4 nearest questions" in report.reasoning
    assert report.handed_over is None


async def test_a_search_takes_the_plan_of_a_kind_before_a_dearer_one_that_suits_all_kinds(
    planner: Planners,
) -> None:
    every = single("alpha", "Try all.", tokens=900)
    questions = tuple(each.model_copy(update={"right": (*each.right, 2)}) for each in FILE.questions)
    file = FILE.model_copy(update={"plans": (*FILE.plans, every), "questions": questions, "method": "search"})
    report = await report_of(planner(file), "What is the capital of Kenya?")
    assert report.workflow == FILE.plans[0].workflow
    assert "right on 4 of 4 of the 4 nearest questions" in report.reasoning


async def test_a_question_like_none_is_handed_over_to_the_conductor_with_the_reason(
    planner: Planners,
) -> None:
    report = await report_of(planner(), "Schreibe ein Gedicht")
    assert report.handed_over is not None
    assert report.handed_over.planner == OfflineConductor.card.name
    assert "No question that was solved is like this one" in report.handed_over.reason


@pytest.mark.slow
async def test_its_questions_are_embedded_once_and_each_query_for_its_plan(
    planner: Planners, fake_openai: Served
) -> None:
    table = EmbeddingsTable(base_url=fake_openai.base_url, model="letters")
    pool = replace(POOL, embeddings=table)
    encoder = Encoder(kind="endpoint", model="letters", base_url=fake_openai.base_url)
    by_endpoint = planner(FILE.model_copy(update={"encoder": encoder}), pool=pool)
    for query in ("What is the capital of Kenya?", "What is the capital of Cuba?"):
        assert (await report_of(by_endpoint, query, pool)).workflow is not None
    texts = [len(entry.body["input"]) for entry in fake_openai.log.entries if entry.body is not None]
    assert texts == [1, len(FILE.questions), 1]


async def test_where_the_conductors_own_plans_were_right_it_plans(
    planner: Planners,
) -> None:
    own = TriedPlan(workflow=None, origin="conductor", tokens=5)
    questions = [TriedQuestion(question=each, right=(1,), wrong=(0,)) for each in CITIES]
    base = WritingConductor()
    file = planner_of(plans=[single("alpha"), own], questions=questions)
    report = await report_of(planner(file, base), "What is the capital of Kenya?")
    assert report.handed_over is not None
    assert report.handed_over.reason == "Its plans were right on 4 of 4 of the 4 nearest questions."
    assert len(base.requests) == 1


async def test_what_is_handed_over_is_read_in_the_form_that_the_conductor_was_asked_for(
    planner: Planners,
) -> None:
    text = '{"reasoning": "r", "steps": [{"instruction": "Do it.", "agent": 1, "access": []}]}'

    class JsonConductor(WritingConductor):
        async def stream(self, request: PlanRequest) -> AsyncIterator[Any]:
            self.requests.append(request)
            yield OutgoingPrompt(messages=(Message("user", (Part("frame", "Plan."),)),), form="json")
            yield Completion(text=text)

    direct = await report_of(JsonConductor(), "Schreibe ein Gedicht")
    handed = await report_of(planner(base=JsonConductor()), "Schreibe ein Gedicht")
    assert handed.handed_over is not None
    assert handed.model_copy(update={"handed_over": None}) == direct


async def test_the_last_planner_that_it_was_handed_to_is_named(planner: Planners) -> None:
    class Handing(WritingConductor):
        async def stream(self, request: PlanRequest) -> AsyncIterator[Any]:
            yield HandedOver(planner="rules", planner_kind="offline", reason="Too far.")
            async for item in OfflineConductor().stream(request):
                yield item

    report = await report_of(planner(base=Handing()), "Schreibe ein Gedicht")
    assert report.handed_over is not None
    assert (report.handed_over.planner, report.handed_over.reason) == ("rules", "Too far.")


async def test_the_nearest_solved_questions_stand_in_a_models_prompt(
    planner: Planners,
) -> None:
    base = WritingConductor()
    file = FILE.model_copy(update={"use": "prompt"})
    await report_of(planner(file, base), "What is the capital of Kenya?")
    (request,) = base.requests
    assert len(request.examples) == 3
    assert {each.question for each in request.examples} <= {*CITIES}
    assert {each.workflow.steps[0].worker for each in request.examples} == {"alpha"}
    text = plan_messages(request, dialect="any", style="ours", room_to_think=True)[0].content
    assert all(f"Question: {each.question}" in text for each in request.examples)
    assert "Mongolia" not in text


@pytest.mark.parametrize(
    "more", [{"round": 2, "previous": Workflow.of([Step(instruction="a", worker="alpha")])}]
)
async def test_later_rounds_are_the_conductors(planner: Planners, more: dict[str, Any]) -> None:
    base = WritingConductor()
    await report_of(planner(FILE, base), CITIES[0], **more)
    assert base.requests[0].examples == ()


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        ((SimulatedWorker("alpha", seed=1), SimulatedWorker("beta")), "its worker 'alpha' is not the one"),
        ((SimulatedWorker("gamma"),), "none of alpha, beta is offered"),
    ],
)
async def test_another_pool_than_it_learnt_on_is_refused(
    planner: Planners, workers: tuple[SimulatedWorker, ...], reason: str
) -> None:
    pool = Pool(workers=workers)
    with pytest.raises(PlanError, match=f"The planner mine was fitted on another pool: {reason}"):
        await report_of(planner(), CITIES[0], pool)
    with pytest.raises(PlanError, match="conductor learn mine"):
        planner(pool=pool).check()


async def test_a_worker_that_is_excluded_takes_its_plans_along(planner: Planners) -> None:
    only = POOL.only(["beta"])
    report = await report_of(planner(), CITIES[0], only)
    assert report.workflow is not None
    assert report.workflow.steps[0].worker == "beta"


def test_examples_whose_workers_or_steps_do_not_fit_are_left_out() -> None:
    long = Workflow.of(Step(instruction="do", worker="alpha", access=tuple(range(at))) for at in range(3))
    request = PlanRequest(
        query="q",
        workers=tuple(POOL.cards[name] for name in POOL.names),
        max_steps=2,
        examples=(
            SolvedExample("Too long?", long),
            SolvedExample("Gone?", Workflow.of([Step(instruction="do", worker="gamma")])),
            SolvedExample(
                "A line\nand <b>more</b>?", Workflow.of([Step(instruction="Look.", worker="beta")])
            ),
        ),
    )
    text = plan_messages(request, dialect="any", style="ours", room_to_think=False)[0].content
    assert "Too long?" not in text
    assert "Gone?" not in text
    assert "Question: A line and <b>more</b>?\nmodel_id = [1]" in text


# -- texts -------------------------------------------------------------------------------------------


TEXTS = PlannerTexts(instruction="Ask beta.\nAlways.", strengths={"beta": "numbers"})


async def test_texts_stand_in_a_models_prompt_and_the_page_of_a_plan_shows_them(planner: Planners) -> None:
    base = PromptedConductor(lambda *_: plan_text((1, "Answer it.", "[]")))
    file = FILE.model_copy(update={"use": "prompt", "texts": TEXTS})
    report = await report_of(planner(file, base), "What is the capital of Kenya?")
    assert report.prompt is not None
    system = report.prompt.messages[0].content
    assert "\n\nAsk beta. Always.\n\n" in system
    assert "Worker 0: alpha - made-up text at a chosen pace\nWorker 1: beta - numbers\n" in system
    assert HOW_TO_PLAN not in system
    assert report.handed_over is None
    research = plan_messages(
        PlanRequest(query="q", workers=(POOL.cards["alpha"],), instruction="Ask beta.\nUSER QUESTION: no"),
        dialect="any",
        style="research",
        room_to_think=True,
    )
    assert research[1].content.endswith("\n\nAsk beta. USER QUESTION: no")


async def test_texts_choose_examples_and_a_candidate_sees_no_plan_of_its_own_question(
    planner: Planners,
) -> None:
    base = PromptedConductor(lambda *_: plan_text((1, "Answer it.", "[]")))
    texts = PlannerTexts(examples=(CITIES[0], SUMS[0]))
    file = FILE.model_copy(update={"use": "prompt", "texts": texts})
    for is_candidate, expected in ((False, {CITIES[0], SUMS[0]}), (True, {SUMS[0]})):
        candidate = file.model_copy(update={"is_candidate": is_candidate})
        await report_of(planner(candidate, base), CITIES[0])
        examples = base.prompts[-1].partition("Examples, for other questions:")[2]
        assert {each for each in (*CITIES, *SUMS) if each in examples} == expected


async def test_texts_need_a_language_model(planner: Planners) -> None:
    learnt = planner(FILE.model_copy(update={"texts": TEXTS}))
    with pytest.raises(PlanError, match=r"offline planner reads no prompt: name a model under \[conductor\]"):
        learnt.check()
    with pytest.raises(PlanError, match="reads no prompt"):
        await report_of(learnt, CITIES[0])


def test_a_file_without_texts_has_the_digest_that_it_had_before_there_were_any() -> None:
    assert "texts" not in FILE.model_dump_json()
    assert "is_candidate" not in FILE.model_dump_json()
    assert FILE.model_copy(update={"texts": TEXTS}).digest != FILE.digest


# -- the file --------------------------------------------------------------------------------------


def test_a_file_is_read_back_and_found_by_its_name_or_path(tmp_path: Path) -> None:
    path = tmp_path / "planner.json"
    write_planner(FILE, path)
    assert read_planner(path) == FILE
    pool = Pool(workers=POOL.workers, planners={"mine": path})
    for name, where in (("planner:mine", pool), (f"planner:{path}", POOL)):
        named = planner_named(name, where)
        assert isinstance(named, FilePlanner)
        assert named.file == FILE
    with pytest.raises(PlanError, match=r"names no planner 'yours'; it names mine: write yours = "):
        planner_named("planner:yours", pool)
    assert FILE.saw(CITIES[0])
    assert not FILE.saw("What is new?")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "has version 2"),
        ({"format": "conductor-baseline"}, "its format is not 'conductor-planner'"),
        ({"plans": []}, "plans: Tuple should have at least 1 item"),
        ({"questions": [{"question": "q", "right": [7]}]}, "question 1 names a plan that is not there"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "planner.json"
    path.write_text(json.dumps(json.loads(FILE.model_dump_json()) | change), encoding="utf-8")
    with pytest.raises(FormatError, match=reason):
        read_planner(path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ()),
        ({"use": "prompt"}, ("use: nearest, then prompt",)),
        ({"questions": FILE.questions[:6]}, ("questions: 0 more, 2 fewer",)),
        ({"plans": (*FILE.plans, single("beta", "Other."))}, ("plans: 1 more, 0 fewer",)),
        (
            {"questions": (TriedQuestion(question=CITIES[0]), *FILE.questions[1:])},
            ("the same plans were right on other questions",),
        ),
    ],
)
def test_two_planners_differ_in_what_decides_their_plans(
    change: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert differences(FILE, FILE.model_copy(update=change)) == expected


async def test_a_file_that_breaks_while_it_is_in_use_is_named_when_it_plans(
    planner: Planners, tmp_path: Path
) -> None:
    broken = planner()
    (tmp_path / "planner.json").write_text("{", encoding="utf-8")
    assert broken.card.name == "planner:mine"
    with pytest.raises(PlanError, match="holds no learnt planner: it is not JSON"):
        await report_of(broken, CITIES[0])
