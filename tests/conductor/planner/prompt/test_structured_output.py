"""What an endpoint is held to is what the parser reads: nothing less, and next to nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator as Held

from conductor.planner.parsing.parse import parse
from conductor.planner.prompt.structured_output import (
    MAX_INSTRUCTION_WORDS,
    MAX_THINKING_LINES,
    MAX_THINKING_WORDS,
    PlanBounds,
)
from conductor.workflow.plan_report import Dialect, PlanReport
from tests.support.cases.property_cases import cases

DIALECTS: tuple[Dialect, ...] = ("any", "binary", "position", "worker")
NAMES = [f"worker {number}" for number in range(12)]


@cache
def expression(
    workers: int = 3, max_steps: int = 5, dialect: Dialect = "any", think: bool = False, round: int = 1
) -> str:
    return PlanBounds(workers, max_steps, dialect, round, room_to_think=think).regex()


def read(
    text: str, *, workers: int = 3, max_steps: int = 5, dialect: Dialect = "any", round: int = 1
) -> PlanReport:
    return parse(text, workers=NAMES[:workers], dialect=dialect, max_steps=max_steps, round=round)


def lists(models: str = "[0, 1, 2]", subtasks: str = '["a", "b", "c"]', access: str = "[[], [], []]") -> str:
    return f"model_id = {models}\nsubtasks = {subtasks}\naccess_list = {access}"


EMPTY = lists("[]", "[]", "[]")


def is_perfect(report: PlanReport, dialect: Dialect) -> bool:
    """One valid plan; in the dialect `worker`, but for workers that did not run before.

    Its only repair is one that no constraint can prevent: an access entry that repeats a number.
    """
    unrun = all("no earlier step runs on it" in problem.message for problem in report.problems)
    valid = unrun if dialect == "worker" else report.ok
    repairs = {repair.kind for repair in report.repairs} - {"repeated-access"}
    return valid and not repairs and len(report.candidates) == 1


# -- the regular expression ---------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("workers", "max_steps", "think", "round"),
    [
        (1, 1, False, 1),
        pytest.param(3, 5, True, 1, marks=pytest.mark.slow),
        (7, 2, False, 2),
        pytest.param(12, 2, True, 3, marks=pytest.mark.slow),
    ],
)
def test_what_the_expression_matches_is_a_valid_plan(
    dialect: Dialect, workers: int, max_steps: int, think: bool, round: int
) -> None:
    bounds = PlanBounds(workers, max_steps, dialect, round, room_to_think=think, max_instruction=3)

    @cases(5)
    @given(st.from_regex(bounds.regex(), fullmatch=True))
    def valid(text: str) -> None:
        report = read(text, workers=workers, max_steps=max_steps, dialect=dialect, round=round)
        assert is_perfect(report, dialect), report.problems or report.repairs
        assert not report.thinking
        assert think or not report.reasoning
        assert report.return_previous is text.endswith(EMPTY)

    valid()


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_plan_of_every_length_matches_and_is_valid(dialect: Dialect, steps: int) -> None:
    everything = ["all"] if dialect in ("any", "binary") else [0]
    text = lists(
        json.dumps([6 if at else 0 for at in range(steps)]),
        json.dumps([f"Do part {at}." for at in range(steps)]),
        json.dumps([everything if at else [] for at in range(steps)]),
    )
    assert re.fullmatch(expression(7, 5, dialect, think=True, round=2), text)
    report = read(text, workers=7, dialect=dialect, round=2)
    assert is_perfect(report, dialect), report.problems or report.repairs
    assert len(report.candidates[0].worker_indices) == steps


LEGAL: dict[Dialect, tuple[str, ...]] = {
    "any": ("[[], [], []]", "[[], [0], [0, 1]]", '[[], ["all"], ["all"]]', "[[], [0], [1]]"),
    "binary": ("[[], [], []]", '[[], ["all"], "all"]', '[[], [], ["all"]]'),
    "position": ("[[], [], []]", "[[], [0], [0, 1]]", "[[], [], [1]]"),
    "worker": ("[[], [], []]", "[[], [0], [0, 1]]", "[[], [0], [1, 0]]"),
}


@pytest.mark.parametrize(("dialect", "access"), [(d, access) for d in DIALECTS for access in LEGAL[d]])
def test_every_way_of_writing_access_that_a_dialect_has_is_left_to_the_model(
    dialect: Dialect, access: str
) -> None:
    text = lists(access=access)
    assert re.fullmatch(expression(dialect=dialect), text)
    assert is_perfect(read(text, dialect=dialect), dialect)


@pytest.mark.parametrize(
    "instruction",
    [
        "Löse die Aufgabe — “genau” 日本語で。",
        r"Say \"no\", then a backslash \\ and a new line\nwith more.",
        "Write `f(x)`, then call `g`",
        "Put it into <answer> </answer> tags where a < b and 2 <= 3",
        "what's  more: [0], {1}, model_id = [9], #4",
        "word " * (MAX_INSTRUCTION_WORDS - 1) + "word",
    ],
)
def test_an_instruction_may_hold_all_that_instructions_hold(instruction: str) -> None:
    text = lists("[0]", f'["{instruction}"]', "[[]]")
    assert re.fullmatch(expression(), text)
    report = read(text)
    assert is_perfect(report, "any")
    assert report.workflow is not None
    assert report.workflow.steps[0].instruction == json.loads(f'"{instruction}"')


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("any", lists(models="[0, 1, 3]")),
        ("any", lists(models="[0, 1]")),
        ("any", lists(models='["0", 1, 2]')),
        ("any", lists(models="[0, 1, 2, ]")),
        ("any", lists(subtasks='["a", "b"]')),
        ("any", lists(subtasks='["a", "b", ""]')),
        ("any", lists(subtasks='["a", "b", " "]')),
        ("any", lists(subtasks='["a", "b", "\u3000"]')),
        ("any", lists(subtasks='["a", "b", "\\n"]')),
        ("any", lists(subtasks='["a", "b", "c\nd"]')),
        ("any", lists(subtasks='["a", "b", "c \\"]')),
        ("any", lists(subtasks='["a", "b", "c <think> d"]')),
        ("any", lists(subtasks='["a", "b", "c </THINK> d"]')),
        ("any", lists(subtasks='["a", "b", "c ``` d"]')),
        ("any", lists(subtasks=f'["a", "b", "{"word " * MAX_INSTRUCTION_WORDS}word"]')),
        ("any", lists(access="[[], [0]]")),
        ("any", lists(access="[[0], [], []]")),
        ("any", lists(access='[["all"], [], []]')),
        ("any", lists(access="[[], [1], []]")),
        ("any", lists(access="[[], [2], []]")),
        ("any", lists(access="[[], [], [1, 0]]")),
        ("any", lists(access='[[], "all", []]')),
        ("binary", lists(access="[[], [0], []]")),
        ("position", lists(access='[[], ["all"], []]')),
        ("worker", lists(access='[[], ["all"], []]')),
        ("worker", lists(access="[[], [3], []]")),
        ("worker", lists(access="[[0], [], []]")),
        ("any", lists(str([0] * 6), str(list("abcdef")).replace("'", '"'), str([[]] * 6))),
        ("any", EMPTY),
        ("any", "Fine.\n" + lists()),
        ("any", lists() + "\n"),
        ("any", lists().replace("\n", "\n\n")),
    ],
)
def test_a_near_miss_is_no_match(dialect: Dialect, text: str) -> None:
    assert re.fullmatch(expression(dialect=dialect), text) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_later_round_may_keep_the_answer_and_see_the_round_before(dialect: Dialect) -> None:
    later = expression(dialect=dialect, round=2)
    assert re.fullmatch(later, EMPTY)
    assert read(EMPTY, dialect=dialect, round=2).return_previous
    sees = lists("[0]", '["a"]', '[["all"]]')
    may = dialect in ("any", "binary")
    assert bool(re.fullmatch(later, sees)) is may is read(sees, dialect=dialect, round=2).ok


@pytest.mark.parametrize(
    "reasoning",
    [
        "It is hard.",
        "",
        "\n\n- first this\n- then that  \n",
        "model_id =\nsubtasks:\naccess_list = none",
        "**model_id**: \"x\", access: (0, 1) # and 'so on'",
        "model",
        '"',
        "word " * (MAX_THINKING_WORDS - 1),
        "line\n" * (MAX_THINKING_LINES - 1),
    ],
)
def test_reasoning_goes_before_the_plan_and_never_into_it(reasoning: str) -> None:
    text = f"{reasoning}\n{lists()}"
    assert re.fullmatch(expression(think=True), text)
    report = read(text)
    assert is_perfect(report, "any")
    assert report.reasoning == reasoning.strip()
    assert re.fullmatch(expression(think=True), lists())


@pytest.mark.parametrize(
    "reasoning",
    [
        "model_id = [0]",
        '{"steps": 1}',
        "<think>",
        "```",
        "no line break after it: ",
        "word " * MAX_THINKING_WORDS,
        "line\n" * MAX_THINKING_LINES,
    ],
)
def test_reasoning_holds_no_beginning_of_a_plan_and_has_an_end(reasoning: str) -> None:
    assert re.fullmatch(expression(think=True), f"{reasoning}\n{lists()}".replace(": \n", ": ")) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_expression_keeps_to_what_every_backend_takes_and_stays_small(dialect: Dialect) -> None:
    for round in (1, 2):
        pattern = expression(7, 5, dialect, think=True, round=round)
        assert not re.search(r"\(\?[^:]", pattern), "look-around or a named group"
        assert not re.search(r"\\[1-9a-mo-tvwyzA-Z]", pattern), "a class, a boundary or a back-reference"
        assert not re.search(r"(?<!\[)\^|\$", pattern), "an anchor"
        assert "\0" not in pattern
        assert pattern.isascii()
        assert len(pattern) < 8_000


# -- the JSON Schema ----------------------------------------------------------------------------------

TEXTS = st.text(min_size=1, max_size=20).filter(lambda text: text.strip() and "<" not in text)


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Everything that a schema allows, but for instructions that are blank or hold a tag."""
    match schema:
        case {"anyOf": kinds}:
            return st.one_of(map(values, kinds))
        case {"enum": allowed}:
            return st.sampled_from(allowed)
        case {"type": "array", "maxItems": 0}:
            return st.just([])
        case {"type": "array"}:
            return st.lists(
                values(schema["items"]), min_size=schema.get("minItems", 0), max_size=schema["maxItems"]
            )
        case {"type": "object"}:
            return st.fixed_dictionaries({name: values(kind) for name, kind in schema["properties"].items()})
        case {"type": "string"}:
            return TEXTS
    raise AssertionError(schema)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("workers", "max_steps", "think", "round"), [(1, 1, False, 1), (3, 5, True, 1), (7, 1, True, 2)]
)
def test_what_the_schema_allows_is_a_plan_but_for_access_to_what_comes_later(
    dialect: Dialect, workers: int, max_steps: int, think: bool, round: int
) -> None:
    schema = PlanBounds(workers, max_steps, dialect, round, room_to_think=think).schema()

    @cases(5)
    @given(values(schema), st.booleans())
    def readable(plan: dict[str, Any], ascii_only: bool) -> None:
        Held(schema).validate(plan)
        report = read(
            json.dumps(plan, ensure_ascii=ascii_only),
            workers=workers,
            max_steps=max_steps,
            dialect=dialect,
            round=round,
        )
        assert len(report.candidates) == 1
        # No schema that every backend takes can forbid that a number is repeated.
        assert {repair.kind for repair in report.repairs} - {"repeated-access", "backslash"} == {"json-steps"}
        assert report.return_previous is (plan["steps"] == [])
        for problem in report.problems:
            assert re.search(r"reads (itself|step|worker)|it may read nothing", problem.message)
        assert report.ok or dialect != "binary"

    readable()


def step(worker: Any = 0, access: Any = (), **more: Any) -> dict[str, Any]:
    return {"instruction": "do", "model_id": worker, "access": list(access), **more}


@pytest.mark.parametrize(
    ("dialect", "plan"),
    [
        ("any", {"steps": []}),
        ("any", {"steps": [step()] * 6}),
        ("any", {"steps": [step(3)]}),
        ("any", {"steps": [step("0")]}),
        ("any", {"steps": [step(access=[4])]}),
        ("any", {"steps": [step(access=["none"])]}),
        ("any", {"steps": [step(), {"instruction": "do", "model_id": 0}]}),
        ("any", {"steps": [step(why="so")]}),
        ("any", {"steps": [step()], "why": "so"}),
        ("binary", {"steps": [step(), step(access=[0])]}),
        ("position", {"steps": [step(), step(access=["all"])]}),
        ("worker", {"steps": [step(), step(access=[3])]}),
    ],
)
def test_the_schema_refuses_what_it_can(dialect: Dialect, plan: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        Held(PlanBounds(3, 5, dialect).schema()).validate(plan)


def test_a_schema_with_room_to_think_asks_for_the_reasoning_first() -> None:
    schema = PlanBounds(3, 5, "any", room_to_think=True).schema()
    assert list(schema["properties"]) == ["reasoning", "steps"]


def test_an_instruction_without_end_can_be_bounded_in_both_ways() -> None:
    bounded = PlanBounds(3, 1, "any", max_instruction=2).regex()
    assert re.fullmatch(bounded, lists("[0]", '["two words"]', "[[]]"))
    assert not re.fullmatch(bounded, lists("[0]", '["three words here"]', "[[]]"))
    schema = PlanBounds(3, 1, "any", max_instruction=4).schema()
    Held(schema).validate({"steps": [step(instruction="four")]})
    for refused in ("fives", "", " no", 'a"b'):
        with pytest.raises(jsonschema.ValidationError):
            Held(schema).validate({"steps": [step(instruction=refused)]})


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """The schemas of objects inside a schema."""
    if isinstance(schema, list):
        for inner in schema:
            yield from objects(inner)
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from objects(inner)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("max_steps", [1, 5])
def test_the_schema_is_fit_for_strict_modes(dialect: Dialect, max_steps: int) -> None:
    schema = PlanBounds(7, max_steps, dialect, 2, room_to_think=True).schema()
    Held.check_schema(schema)
    parts = list(objects(schema))
    assert len(parts) == 2
    for inner in parts:
        assert inner["additionalProperties"] is False
        assert inner["required"] == list(inner["properties"])


# -- the body's parameters ----------------------------------------------------------------------------


def test_the_parameters_are_those_that_servers_know() -> None:
    bounds = PlanBounds(3, 5, "any", room_to_think=True)
    assert bounds.parameters("regex") == {"structured_outputs": {"regex": expression(think=True)}}
    assert bounds.parameters("none") == {}
    held = bounds.parameters("json")["response_format"]
    assert (held["type"], held["json_schema"]["strict"]) == ("json_schema", True)
    assert held["json_schema"]["schema"] == bounds.schema()
