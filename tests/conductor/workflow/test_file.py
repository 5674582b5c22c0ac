"""A workflow file reads back as it was written, and a wrong one is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.errors import FormatError
from conductor.workflow.file import MAX_BYTES, read_plan, write_plan
from conductor.workflow.model import MAX_STEPS, Step, Workflow
from tests.support.runs.workflow_cases import workflow_of

pytestmark = pytest.mark.usefixtures("no_collection")

STEP = {"instruction": "do", "worker": "w"}
LONG = "x" * 5000


def text_of(**fields: Any) -> str:
    return json.dumps({"format": "conductor-workflow", "version": 1, "steps": [STEP], **fields})


def second(access: Any) -> str:
    return text_of(steps=[STEP, {**STEP, "access": access}])


def pinned(**fields: Any) -> str:
    pin = {"fingerprint": "", "text": "t", "worker": "w", "worker_kind": "model", "run": "r", "step": 0}
    return text_of(steps=[{**STEP, "pin": {**pin, "seconds": 1.0, **fields}}])


@pytest.mark.parametrize("instruction", ['say "hi"\n</x>', "مرحبا", "a\u2028b", "\ud800", "x" * 100_000])
def test_any_instruction_survives_the_file(instruction: str) -> None:
    workflow = Workflow.of([Step(instruction=instruction, worker="w")])
    text = write_plan(workflow, query=None, origin="human", workers=("w",), label=None)
    assert text.isascii()
    assert read_plan(text).workflow == workflow


@pytest.mark.parametrize("tools", [None, [], ["files:read_*", "web"]])
def test_a_step_without_tools_of_its_own_has_no_such_field(tools: list[str] | None) -> None:
    workflow = workflow_of(()).with_tools(0, tools)
    text = write_plan(workflow, query=None, origin="human", workers=("alpha",), label=None)
    assert json.loads(text)["steps"][0].get("tools") == tools
    assert read_plan(text).workflow == workflow


def test_an_export_names_its_format_and_version_first() -> None:
    text = write_plan(workflow_of((), (0,)), query="q", origin="human", workers=("alpha",), label=None)
    document = json.loads(text)
    assert list(document.items())[:2] == [("format", "conductor-workflow"), ("version", 1)]
    assert document["steps"][1] == {
        "instruction": "task 2",
        "worker": "alpha",
        "access": [0],
        "sees_previous": False,
        "sampling": {"temperature": None, "max_tokens": None},
    }


def test_only_steps_are_required() -> None:
    read = read_plan(text_of())
    assert (read.query, read.origin, read.pool.workers) == (None, "human", ())
    assert read.workflow.topology == "single"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: Expecting value at column 1"),
        ('{"format": ', "not JSON"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        ("[]", "is not a JSON object"),
        ("{}", '"format" must be "conductor-workflow"'),
        (text_of(format="other"), '"format" must be'),
        (text_of()[:-1] + ', "steps": []}', "names 'steps' twice in one object, so it has two values"),
        (text_of().replace('"worker"', '"instruction": "or", "worker"'), "names 'instruction' twice"),
        (text_of()[:-1] + f', "{LONG}": 1, "{LONG}": 2}}', "names 'xxx"),
        (text_of(version=2), "has version 2; this program reads version 1"),
        (text_of(version=None), "has version null"),
        (text_of(version=True), "has version true"),
        (text_of(version="9" * 5000), "has version"),
        (text_of(extra=1), "unknown field 'extra'; remove it"),
        (text_of(steps=[{**STEP, "skills": []}]), "unknown field 'steps.0.skills'"),
        (text_of(**{"x" * 5000: 1}), "unknown field"),
        (text_of(steps=[]), "has no steps"),
        (text_of(steps={}), "'steps' is wrong: it must be a list"),
        (text_of(steps=["do"]), "'steps.0' is wrong: it must be an object"),
        (text_of(steps=[{"worker": "w"}]), "'steps.0.instruction' is wrong: Field required"),
        (text_of(steps=[{**STEP, "instruction": 3}]), "'steps.0.instruction' is wrong: it must be a text"),
        (text_of(steps=[{**STEP, "instruction": " "}]), "Step 1 has an empty instruction"),
        (text_of(steps=[{**STEP, "sampling": {"temperature": 3}}]), "temperature' is wrong"),
        (
            text_of(steps=[{**STEP, "sampling": {"temperature": float("nan")}}]),
            "NaN in the place of a number",
        ),
        (pinned(seconds=float("nan")), "NaN in the place of a number"),
        (pinned(hand={"at": float("-inf")}), "-Infinity in the place of a number"),
        (pinned(seconds=1.5).replace("1.5", "1e999"), "the number 1e999, which is too large"),
        (text_of(steps=[{**STEP, "sampling": {"max_tokens": "9"}}]), "max_tokens' is wrong"),
        (text_of(steps=[{**STEP, "sees_previous": 1}]), "'steps.0.sees_previous' is wrong"),
        (text_of(steps=[{**STEP, "tools": "web"}]), "'steps.0.tools' is wrong: it must be a list"),
        (text_of(steps=[{**STEP, "tools": ["a b"]}]), "Step 1 names the tools 'a b'; write SERVER"),
        (text_of(query=3), "'query' is wrong: it must be a text"),
        (text_of(origin="nobody"), "'origin' is wrong"),
        (second("0"), "'steps.1.access' is wrong: it must be a list"),
        (second(["0"]), "'steps.1.access.0' is wrong: it must be a whole number"),
        (second([False]), "'steps.1.access.0' is wrong: it must be a whole number"),
        (second([1]), "Step 2 reads itself"),
        (second([-1]), "positions start at 0"),
        (text_of(steps=[{**STEP, "access": [1]}, STEP]), "Step 1 reads step 2, which is not before it"),
        (text_of(steps=[STEP] * 10_000), "has 10,000 steps; a workflow may have at most 1,000"),
        ("[" * 200_000, "nested too deeply"),
        (text_of(steps=[]).replace("[]", "[" * 50 + "]" * 50), "'steps.0' is wrong"),
        (text_of(steps=[]).replace("[]", "[" * 500 + "]" * 500), "nested too deeply"),
        (second([]).replace("[]", "[" + "9" * 5000 + "]"), "more than 640 digits"),
        (second([]).replace("[]", "[" + "9" * 400 + "]"), "not before it"),
        (" " * (MAX_BYTES + 1), "10,000,001 bytes; a workflow file has at most 10,000,000"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(text: str | bytes, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_plan(text)
    message = str(caught.value)
    assert reason in message
    assert len(message) < 600
    assert "\n" not in message


def test_the_greatest_workflow_reads_back() -> None:
    workflow = workflow_of(*(range(i) for i in range(MAX_STEPS)))
    text = write_plan(workflow, query=None, origin="import", workers=(), label=None)
    assert read_plan(text).workflow == workflow
