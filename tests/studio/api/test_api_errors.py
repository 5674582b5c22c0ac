"""Errors that the frameworks below the API raise: answered in OpenAI's shape, too."""

from __future__ import annotations

import httpx
import pytest
from httpx import ASGITransport

from conductor.workers.simulated import SimulatedWorker
from studio.api.app import api
from tests.studio.api.stage import Stage


def error_of(answer: httpx.Response) -> dict[str, object]:
    """The error object, which has the four members of OpenAI's and nothing beside it."""
    assert set(answer.json()) == {"error"}
    error: dict[str, object] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


async def test_a_parameter_that_fastapi_refuses_is_an_error_in_openais_shape(stage: Stage) -> None:
    async def page(number: int) -> None: ...

    async def fault() -> None:
        raise ZeroDivisionError

    app = api(lambda: stage.workbench, stage.auth)
    app.get("/pages")(page)
    app.get("/fault")(fault)
    transport = ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        invalid = await client.get("/pages", params={"number": "many"})
        assert invalid.status_code == 400
        error = error_of(invalid)
        assert (error["param"], error["code"]) == ("number", "invalid_value")
        failed = await client.get("/fault")
        assert (failed.status_code, failed.headers["x-should-retry"]) == (500, "false")
        assert error_of(failed)["type"] == "server_error"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/chat/completions", "GET, HEAD, POST"),
        ("PUT", "/embeddings", "POST"),
        ("POST", "/models", "GET, HEAD"),
        ("POST", "/models/", "GET, HEAD"),
        ("PATCH", "/responses/resp_1", "DELETE, GET, HEAD"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_refused_with_all_that_are_allowed(
    stage: Stage, method: str, path: str, allowed: str
) -> None:
    answer = httpx.request(method, f"{stage.base_url}{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert error_of(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/nowhere", "/docs", "/redoc", "/models%0a", "/responses/a/b"])
def test_what_is_not_there_is_an_error_in_json(stage: Stage, path: str) -> None:
    answer = httpx.get(f"{stage.base_url}{path}")
    assert (answer.status_code, error_of(answer)["code"]) == (404, "unknown_url")


def test_head_is_answered_like_get_without_a_body(stage: Stage) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="So."))
    for path in ("/models", "/models/", "/models/conductor", "/openapi.json"):
        answer = httpx.head(f"{stage.base_url}{path}")
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"] == "application/json"
