"""The JSON Schema under docs/ is the one the program reads and writes by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from conductor.values.messages import Sampling
from conductor.workflow.file import PlanFile, write_plan
from conductor.workflow.model import Workflow
from tests.support.cases.property_cases import cases
from tests.support.runs.workflow_cases import workflow_of, workflows

PUBLISHED = json.loads(
    (Path(__file__).parents[3] / "docs/conductor-workflow-1.schema.json").read_text(encoding="utf-8")
)


def check(document: Any) -> None:
    jsonschema.Draft202012Validator(PUBLISHED).validate(document)


def exported(workflow: Workflow) -> dict[str, Any]:
    text = write_plan(workflow, query="q", origin="human", workers=("alpha",), label=None)
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.mark.slow
def test_the_published_schema_is_the_programs_own() -> None:
    assert PlanFile.model_json_schema() == PUBLISHED
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)


@cases(30)
@given(workflow=workflows())
def test_every_export_fits_the_schema(workflow: Workflow) -> None:
    check(exported(workflow.with_sampling(0, Sampling(temperature=0.2, max_tokens=9))))


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"format": "other"},
        {"steps": []},
        {"steps": [{"instruction": "do", "worker": "w", "extra": 1}]},
        {"steps": [{"instruction": "do", "worker": "w", "access": ["0"]}]},
        {"origin": "nobody"},
        {"extra": 1},
    ],
)
def test_what_the_program_refuses_does_not_fit_the_schema(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({**exported(workflow_of(())), **wrong})
