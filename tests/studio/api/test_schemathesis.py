"""The API against its own OpenAPI document: made-up requests, valid and not, are answered as it states."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.processes.api_server import ServedApi, serving_api

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

OPERATIONS = [
    "POST /chat/completions",
    "POST /responses",
    "POST /embeddings",
    "GET /responses/{id}",
    "DELETE /responses/{id}",
    "POST /responses/{id}/cancel",
    "POST /responses/{id}/resume",
    "GET /responses/{id}/input_items",
    "GET /chat/completions",
    "GET /chat/completions/{id}",
    "POST /chat/completions/{id}",
    "GET /chat/completions/{id}/messages",
    "DELETE /chat/completions/{id}",
    "GET /sessions",
    "GET /sessions/export",
    "GET /sessions/{id}",
    "GET /sessions/{id}/export",
    "DELETE /sessions/{id}",
    "GET /models",
    "GET /models/{id}",
]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]


@pytest.fixture(scope="module")
def served(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("schema") / "conductor.db")
    with serving_api(file, Pool(workers=(SimulatedWorker(name="alpha", answer="So."),))) as served:
        yield served


@pytest.fixture(scope="module")
def schema(served: ServedApi) -> schemathesis.BaseSchema:
    """The server's document of itself."""
    schema = schemathesis.openapi.from_url(f"{served.base_url}/openapi.json")
    rejection = schema.config.checks.negative_data_rejection
    # A list of too many items may make a body that is too large.
    rejection.expected_statuses = [*rejection.expected_statuses, "413"]
    return schema


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        *((operation, GenerationMode.POSITIVE) for operation in OPERATIONS),
        # What can be wrong with the others is a name that does not exist.
        *(
            (operation, GenerationMode.NEGATIVE)
            for operation in OPERATIONS
            if operation.startswith("POST") and "{id}" not in operation
        ),
    ],
)
def test_what_is_asked_is_answered_as_the_document_states(
    served: ServedApi, schema: schemathesis.BaseSchema, operation: str, mode: GenerationMode
) -> None:
    method, path = operation.split()
    cases = schema[path][method].as_strategy(generation_mode=mode)
    statuses: set[int] = set()

    @settings(max_examples=60, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=cases)
    def answered(case: schemathesis.Case) -> None:
        # Of all names only some are models, and the others are refused before anything is run.
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict) and "{id}" not in path:
            case.body["model"] = "worker:alpha"
        key = {"authorization": f"Bearer {served.key}"}
        statuses.add(case.call_and_validate(checks=CHECKS, headers=key).status_code)

    answered()
    assert mode is GenerationMode.NEGATIVE or method == "POST" or "{id}" in path or 200 in statuses


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": [{"role": "user", "content": "Why?"}]}),
        ("/responses", {"input": "Why?"}),
    ],
)
def test_a_plain_question_is_answered_as_the_document_states(
    served: ServedApi, schema: schemathesis.BaseSchema, path: str, body: dict[str, Any]
) -> None:
    # Few of the conversations that are made up can be answered: each call of a tool needs its result.
    case = schema[path]["POST"].Case(body={"model": "worker:alpha", **body}, media_type="application/json")
    answer = case.call_and_validate(checks=CHECKS, headers={"authorization": f"Bearer {served.key}"})
    assert answer.status_code == 200


def test_every_operation_of_the_document_is_tried(schema: schemathesis.BaseSchema) -> None:
    described = {f"{entry.ok().method.upper()} {entry.ok().path}" for entry in schema.get_all_operations()}
    assert described == set(OPERATIONS)
