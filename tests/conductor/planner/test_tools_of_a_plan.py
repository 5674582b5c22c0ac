"""A plan may name the tools of each step where its prompt lists those; a plan of three lists is as good."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest

from conductor.planner.conductor import PlanRequest
from conductor.planner.format import format_plan
from conductor.planner.parsing.parse import parse
from conductor.planner.prompt.prompt import plan_messages
from conductor.planner.prompt.structured_output import PlanBounds
from conductor.runs.request import ChangeRequest
from conductor.workers.protocol import PromptStyle, WorkerCard
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Form, PlanReport, ToolsOfWorkers
from tests.conductor.planner.prompt.test_plan_grammar import Grammar

POOL = ("reader", "thinker")
TOOLS: ToolsOfWorkers = (("files:read_*", "web"), ())
NAMES = TOOLS[0]
LISTS = 'model_id = [0, 1]\nsubtasks = ["look", "think"]\naccess_list = [[], [0]]'
CARDS = tuple(
    WorkerCard(name=name, kind="model", strengths="good", model="m", tools=own)
    for name, own in zip(POOL, TOOLS, strict=True)
)
PLAN = Workflow.of(
    [
        Step(instruction="look", worker="reader", tools=("web",)),
        Step(instruction="think", worker="thinker", access=(0,), tools=()),
    ]
)


def read(text: str, tools: ToolsOfWorkers = TOOLS, **more: Any) -> PlanReport:
    return parse(text, workers=POOL, tools=tools, **more)


def tools_of(report: PlanReport) -> list[Sequence[str] | None]:
    assert report.workflow is not None, report.problems
    return [step.tools for step in report.workflow.steps]


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("", [None, None]),
        ("\ntools = [null, []]", [None, ()]),
        ("\ntools = [None, []]", [None, ()]),
        ('\ntools = [["web", "files:read_*"], null]', [("files:read_*", "web"), None]),
        ('\ntools = [["files:read_text"]]', [("files:read_text",), None]),
        ("\ntools = []", [None, None]),
        ('\n\n**tools**: [["web"], []]', [("web",), ()]),
        ("\nThe tools were: []\ntools = [[], []]", [None, None]),
    ],
)
def test_a_fourth_list_has_the_tools_of_each_step(line: str, tools: list[Sequence[str] | None]) -> None:
    assert tools_of(read(LISTS + line)) == tools


def test_the_list_of_tools_may_stand_among_the_others_and_in_a_fence() -> None:
    first, second, third = LISTS.split("\n")
    listed = 'tools = [["web"], []]'
    for order in ([first, listed, second, third], [first, second, listed, third]):
        report = read("\n".join(["Why.", "```python", *order, "```", "So it is."]))
        assert tools_of(report) == [("web",), ()]
    report = read(f"Why.\n```python\n{LISTS}\n{listed}\n```\nSo it is.")
    assert tools_of(report) == [("web",), ()]
    assert report.reasoning == "Why.\n\nSo it is."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '[["mail"], null]',
            "Step 1 names the tools 'mail'; its worker allows some of files:read_*, web, []",
        ),
        ('[null, ["web"]]', "Step 2 names the tools 'web'; its worker allows [] or null."),
        ("[[3], null]", "Step 1 names the tools 3;"),
        ('["none", null]', "Step 1 names the tools 'none';"),
        ("[null, null, []]", "The lists have different lengths (tools 3, model_id 2)"),
        ("[null, [", "The list tools cannot be read:"),
    ],
)
def test_a_plan_with_other_tools_is_not_valid_and_states_why(line: str, reason: str) -> None:
    report = read(f"{LISTS}\ntools = {line}")
    assert report.workflow is None
    assert [problem.message for problem in report.problems if reason in problem.message]


def test_a_name_without_brackets_is_a_list_of_one() -> None:
    report = read(f'{LISTS}\ntools = ["web", []]')
    assert tools_of(report) == [("web",), ()]
    assert [repair.kind for repair in report.repairs] == ["other-tools"]


@pytest.mark.parametrize("form", ["lists", "json"])
def test_tools_are_ignored_with_a_remark_where_the_prompt_lists_none(form: Form) -> None:
    report = read(format_plan(PLAN, POOL, form=form), tools=(), form=form)
    assert tools_of(report) == [None, None]
    [remark] = report.repairs
    assert (remark.kind, "were ignored" in remark.detail) == ("other-tools", True)
    assert report.reasoning == ""


@pytest.mark.parametrize("form", ["lists", "json", "names"])
def test_a_plan_with_tools_reads_back_as_itself(form: Form) -> None:
    for workflow in (PLAN, PLAN.with_tools(0, None), PLAN.with_tools(0, None).with_tools(1, None)):
        text = format_plan(workflow, POOL, form=form, tools=True)
        report = read(text, form=form)
        assert (report.workflow, report.repairs, report.problems) == (workflow, (), ())


def test_a_plan_without_tools_is_written_in_three_lists() -> None:
    plain = PLAN.with_tools(0, None).with_tools(1, None)
    assert format_plan(plain, POOL) == LISTS
    assert format_plan(plain, POOL, tools=True) == f"{LISTS}\ntools = [null, null]"


# -- what an endpoint is held to -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "holds"),
    [
        ("null, []", True),
        ('["web"], ["files:read_*", "web"]', True),
        ('["mail"], []', False),
        ('["files:read_text"], []', False),
        ("null", False),
    ],
)
def test_the_expression_allows_the_tools_of_the_pool(entries: str, holds: bool) -> None:
    expression = PlanBounds(2, 3, "any", tools=NAMES).regex()
    assert bool(re.fullmatch(expression, f"{LISTS}\ntools = [{entries}]")) is holds
    assert re.fullmatch(PlanBounds(2, 3, "any").regex(), LISTS)


@pytest.mark.parametrize(
    ("tools", "holds"), [(None, True), ([], True), (["web"], True), (["mail"], False), ("web", False)]
)
def test_the_schema_allows_the_tools_of_the_pool(tools: object, holds: bool) -> None:
    schema = PlanBounds(2, 3, "any", tools=NAMES).schema()
    step = {"instruction": "look", "model_id": 0, "access": [], "tools": tools}
    assert jsonschema.Draft202012Validator(schema).is_valid({"steps": [step]}) is holds
    assert "tools" not in json.dumps(PlanBounds(2, 3, "any").schema())


def test_what_the_grammar_writes_has_tools_that_can_be_read() -> None:
    grammar = PlanBounds(1, 3, "any", tools=NAMES).grammar()
    written = [Grammar(grammar, seed).write() for seed in range(30)]
    reports = [parse(text, workers=POOL[:1], tools=TOOLS[:1], form="json") for text in written]
    assert [report.problems for report in reports] == [()] * 30
    named = {tools for report in reports for tools in tools_of(report)}
    assert {None, (), ("web",)} <= named


# -- what a Conductor reads -----------------------------------------------------------------------------


def prompt(style: PromptStyle = "ours", form: Form = "lists", **more: Any) -> str:
    request = PlanRequest(**({"query": "why?", "workers": CARDS} | more))
    messages = plan_messages(request, dialect="any", style=style, room_to_think=True, form=form)
    return "\n".join(message.content for message in messages)


@pytest.mark.parametrize("form", ["lists", "json"])
def test_a_prompt_lists_the_tools_of_each_worker(form: Form) -> None:
    text = prompt(form=form)
    assert "Worker 0: reader - good (tools: files:read_*, web)\nWorker 1: thinker - good\n" in text
    assert "Give [] to a step that should only think" in text
    assert ("Then end with four lists" in text) is (form == "lists")
    assert ('and "tools" (what it may call)' in text) is (form == "json")


@pytest.mark.parametrize(
    ("style", "more"),
    [
        ("research", {}),
        ("ours", {"strict": True}),
        ("ours", {"workers": tuple(card.model_copy(update={"tools": ()}) for card in CARDS)}),
    ],
)
def test_a_conductor_that_does_not_know_tools_is_shown_none(style: PromptStyle, more: dict[str, Any]) -> None:
    text = prompt(style, **more)
    assert not re.search("tools|four", text)
    assert PlanRequest(**({"query": "q", "workers": CARDS} | more)).tools_for(style) == ()


def test_a_change_shows_the_tools_of_each_step_that_names_some() -> None:
    change = ChangeRequest(workflow=PLAN.with_tools(1, None), wish="shorter")
    assert 'worker="reader" sees="nothing" tools="web">' in prompt(change=change)
    assert 'worker="thinker" sees="0">' in prompt(change=change)
    assert "tools=" not in prompt("research", change=change)
