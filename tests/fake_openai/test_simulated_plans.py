"""Asked as a Conductor, the endpoint answers with a plan that our parser reads without a repair."""

from __future__ import annotations

from typing import Any, Literal, get_args

import pytest
from asking import Asking

from conductor.plan import Dialect, PlanReport
from conductor.planner.conductor import PlanRequest
from conductor.planner.constraint import Constraint, structured
from conductor.planner.parse import parse
from conductor.planner.prompt import plan_messages
from conductor.workers.protocol import PromptStyle, WorkerCard
from conductor.workflow import Step, Workflow

NAMES = ["gpt", "gemini", "claude", "gemma", "qwen", "qwen-thinking", "deepseek"]
SEEDS = range(12)

Form = Literal["lists", "json"]


def asked_of(
    workers: int,
    *,
    dialect: Dialect = "any",
    style: PromptStyle = "ours",
    max_steps: int = 5,
    form: Form = "lists",
    query: str = "What is 2+2?",
    round: int = 1,
) -> list[dict[str, str]]:
    """Our own prompt, as it is sent."""
    cards = tuple(
        WorkerCard(name=name, kind="simulated", strengths="made-up text", model="simulated")
        for name in NAMES[:workers]
    )
    previous = Workflow.of([Step(instruction="Try.", worker=NAMES[0])]) if round > 1 else None
    request = PlanRequest(query=query, workers=cards, max_steps=max_steps, round=round, previous=previous)
    messages = plan_messages(request, dialect=dialect, style=style, room_to_think=True, form=form)
    return [{"role": message.role, "content": message.content} for message in messages]


def said(asking: Asking, messages: list[dict[str, str]], **body: Any) -> str:
    response = asking.client.post("chat/completions", json={"model": "m", "messages": messages, **body})
    assert response.status_code == 200, response.text
    content: str = response.json()["choices"][0]["message"]["content"]
    return content


def read(text: str, workers: int, dialect: Dialect = "any", max_steps: int = 5, round: int = 1) -> PlanReport:
    return parse(text, workers=NAMES[:workers], dialect=dialect, max_steps=max_steps, round=round)


@pytest.mark.parametrize("style", ["ours", "paper"])
@pytest.mark.parametrize("constraint", ["regex", "json", "none"])
@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_our_prompt_gets_a_valid_plan_however_it_is_constrained(
    asking: Asking, dialect: Dialect, constraint: Constraint, style: PromptStyle
) -> None:
    form: Form = "json" if constraint == "json" else "lists"
    for workers, max_steps in ((1, 5), (2, 2), (3, 3), (7, 1), (7, 5)):
        held = structured(
            constraint, workers=workers, max_steps=max_steps, dialect=dialect, room_to_think=True
        )
        messages = asked_of(workers, dialect=dialect, style=style, max_steps=max_steps, form=form)
        report = read(said(asking, messages, **held), workers, dialect, max_steps)
        assert report.ok, report
        assert len(report.candidates) == 1
        assert [repair.kind for repair in report.repairs] == (["json-steps"] if form == "json" else [])
        assert "Simulated reasoning" in (report.text if form == "json" else report.reasoning)


def test_a_constrained_plan_without_room_to_think_begins_at_once(asking: Asking) -> None:
    held = structured("regex", workers=3, max_steps=5, dialect="any", room_to_think=False)
    assert said(asking, asked_of(3), **held).startswith("model_id = [")


@pytest.mark.parametrize("constraint", ["regex", "json", "none"])
def test_a_later_round_sometimes_keeps_the_answer(asking: Asking, constraint: Constraint) -> None:
    form: Form = "json" if constraint == "json" else "lists"
    held = structured(constraint, workers=3, max_steps=5, dialect="any", room_to_think=True, round=2)
    messages = asked_of(3, round=2, form=form)
    reports = [read(said(asking, messages, seed=seed, **held), 3, round=2) for seed in SEEDS]
    assert all(report.ok for report in reports)
    assert {report.return_previous for report in reports} == {True, False}


def test_plans_differ_by_their_seed_and_take_different_shapes(asking: Asking) -> None:
    messages = asked_of(7, dialect="binary")
    shapes = {read(said(asking, messages, seed=seed), 7).workflow for seed in SEEDS}
    assert {len(workflow) for workflow in shapes if workflow} == {1, 3}
    assert len(shapes) > 4


def test_numbers_in_the_question_add_no_workers(asking: Asking) -> None:
    messages = asked_of(2, query="Rank these:\nWorker 2: Ann\n2. Bea\nModel 3: Cid")
    for seed in SEEDS:
        assert read(said(asking, messages, seed=seed), 2).ok


def regex(workers: int, max_steps: int) -> str:
    """A union over the number of steps, so that the expression alone makes a plan valid."""

    def steps(count: int) -> str:
        ids = ", ".join([f"[0-{workers - 1}]"] * count)
        subtasks = ", ".join(['"[A-Za-z0-9 ,.]{1,80}"'] * count)
        access = ", ".join([r"\[\]", *(rf'(\[\]|"all"|\[[0-{at - 1}]\])' for at in range(1, count))])
        return rf"model_id = \[{ids}\]\nsubtasks = \[{subtasks}\]\naccess_list = \[{access}\]"

    return "[A-Za-z ,.]{1,200}\n\n(" + "|".join(map(steps, range(1, max_steps + 1))) + ")"


def test_a_constrained_plan_is_valid_by_its_expression_alone(asking: Asking) -> None:
    counts = set()
    for seed in SEEDS:
        structured = {"regex": regex(7, 5)}
        report = read(asking.said("Plan.", seed=seed, structured_outputs=structured), 7)
        assert report.workflow is not None, report
        counts.add(len(report.workflow))
    assert len(counts) > 2


def steps_schema(workers: int, access: dict[str, Any]) -> dict[str, Any]:
    step = {
        "type": "object",
        "properties": {
            "instruction": {"type": "string", "maxLength": 60},
            "model_id": {"type": "integer", "enum": list(range(workers))},
            "access": access,
        },
        "required": ["instruction", "model_id", "access"],
        "additionalProperties": False,
    }
    steps = {"type": "array", "items": step, "minItems": 1, "maxItems": 5}
    return {"type": "object", "properties": {"steps": steps}, "required": ["steps"]}


ALL = {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}]}
NUMBERS = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 4}, "maxItems": 4}
LISTS = {
    "type": "object",
    "properties": {
        "model_id": {"type": "array", "items": {"enum": [0, 1, 2]}, "minItems": 1, "maxItems": 5},
        "subtasks": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z ]{1,40}$"},
            "minItems": 1,
        },
        "access_list": {"type": "array", "items": ALL, "minItems": 1},
    },
    "required": ["model_id", "subtasks", "access_list"],
}


@pytest.mark.parametrize("schema", [steps_schema(3, ALL), steps_schema(3, NUMBERS), LISTS])
@pytest.mark.parametrize("way", ["response_format", "structured_outputs"])
def test_a_plan_under_a_schema_reads_only_backwards(asking: Asking, way: str, schema: dict[str, Any]) -> None:
    named = {"type": "json_schema", "json_schema": {"name": "plan", "schema": schema, "strict": True}}
    body = {way: named if way == "response_format" else {"json": schema}}
    counts = set()
    for seed in SEEDS:
        report = read(asking.said(seed=seed, **body), 3)
        assert report.workflow is not None, report
        counts.add(len(report.workflow))
    assert counts == {1, 3}


def test_one_of_several_texts_is_chosen(asking: Asking) -> None:
    choice = ["yes", "no"]
    assert {asking.said(seed=seed, structured_outputs={"choice": choice}) for seed in SEEDS} == set(choice)


def test_a_prompt_without_the_lists_gets_an_ordinary_answer(asking: Asking) -> None:
    assert asking.said("Model 0: gpt\nWhat are subtasks?").startswith("Simulated answer")
