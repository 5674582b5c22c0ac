"""The form of an answer is a value like the others: checked, stored whole, and part of what decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from conductor.values.message_parts.response_format import MAX_SCHEMA, ResponseFormat
from conductor.values.messages import Request, Sampling
from conductor.workflow.file import read_plan, write_plan
from conductor.workflow.fingerprint import fingerprint
from tests.support.runs.workflow_cases import workflow_of

SCHEMA = {"properties": {"b": {"const": None}, "a": {"enum": [None, "ä"]}}}
FORM = ResponseFormat.of_schema(SCHEMA, name="pair", strict=True)
OBJECT = ResponseFormat(type="json_object")


def test_it_is_written_as_openais_protocol_has_it() -> None:
    assert OBJECT.wire == {"type": "json_object"}
    assert FORM.wire == {
        "type": "json_schema",
        "json_schema": {"name": "pair", "strict": True, "schema": SCHEMA},
    }
    assert list(FORM.wire["json_schema"]["schema"]["properties"]) == ["b", "a"], "models follow this order"


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "text"},
        {"type": "json_schema"},
        {"type": "json_schema", "name": "a b", "schema_text": "{}"},
        {"type": "json_schema", "name": "a", "schema_text": "[]"},
        {"type": "json_schema", "name": "a", "schema_text": "{"},
        {"type": "json_schema", "name": "a", "schema_text": '{"const": NaN}'},
        {"type": "json_schema", "name": "a", "schema_text": '{"a":' * 5_000 + "1" + "}" * 5_000},
        {"type": "json_schema", "name": "a", "schema_text": '{"a": "' + "x" * MAX_SCHEMA + '"}'},
        {"type": "json_object", "name": "a"},
        {"type": "json_object", "strict": True},
    ],
)
def test_what_is_no_form_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ResponseFormat.model_validate(wrong)


def test_a_file_keeps_it_with_its_nulls() -> None:
    workflow = workflow_of(()).with_sampling(0, Sampling(temperature=0.5, response_format=FORM))
    text = write_plan(workflow, query="q", origin="human", workers=("alpha",), label=None)
    read = read_plan(text).workflow
    assert read == workflow
    assert (form := read.steps[0].sampling.response_format) is not None
    assert form.schema_object == SCHEMA


def test_without_any_nothing_is_written() -> None:
    assert json.loads(Sampling(temperature=1).model_dump_json()) == {"temperature": 1, "max_tokens": None}


def test_it_is_taken_over_where_it_is_left_open() -> None:
    own = Sampling(response_format=OBJECT)
    assert own.over(Sampling(temperature=0.1)) == Sampling(temperature=0.1, response_format=OBJECT)
    assert Sampling(temperature=0.1).over(own) == Sampling(temperature=0.1, response_format=OBJECT)
    assert own.over(Sampling(response_format=FORM)) == own


def test_it_is_part_of_the_fingerprint() -> None:
    def address(form: ResponseFormat | None) -> str:
        sent = Request((), Sampling(response_format=form))
        return fingerprint(sent, identity="i", outline="")

    reordered = ResponseFormat.of_schema(
        {"properties": dict(reversed(SCHEMA["properties"].items()))}, name="pair", strict=True
    )
    assert len({address(form) for form in (None, OBJECT, FORM, reordered)}) == 4


def test_it_is_shown_in_words() -> None:
    sampling = Sampling(temperature=0.2, max_tokens=7, response_format=FORM)
    assert sampling.words == ("temperature 0.2", "max tokens 7", "JSON by the schema pair")
    assert Sampling(response_format=OBJECT).words == ("a JSON object",)
