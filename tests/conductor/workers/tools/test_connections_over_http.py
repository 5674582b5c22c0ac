"""Servers at a URL: their headers, their end, and what is no server of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from conductor.errors import ToolError
from conductor.workers.keys.hosts import HOSTS
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ToolServer
from tests.support.processes.served_app import serving
from tests.support.tools.tool_servers import opened, served_sample

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.fixture(scope="module")
def shared() -> Iterator[ToolConnections]:
    with opened() as each:
        yield each


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_sample() as each:
        yield each


async def test_tools_are_listed_and_called(shared: ToolConnections, url: str) -> None:
    server = ToolServer(name="web", url=url)
    tools = await shared.tools(server)
    assert {"say", "wait"} < {tool.name for tool in tools}
    assert {tool.server_version for tool in tools} == {"sample 1.2"}
    assert (await shared.call(server, "say", {"text": "ünï"})).text == "ünï"
    assert (await shared.call(server, "no such tool", {})).is_error


@pytest.mark.parametrize(
    ("header", "value", "scheme"),
    [
        ("X-Key", "abc-123456", ""),
        ("Authorization", "abc-123456", "Bearer "),
        ("authorization", "Basic abc-123456", ""),
    ],
)
async def test_a_header_has_the_value_of_its_variable(
    shared: ToolConnections,
    url: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    header: str,
    value: str,
    scheme: str,
) -> None:
    name = f"{header.upper().replace('-', '_')}_{len(value)}_API_KEY"
    monkeypatch.setenv(name, value)
    monkeypatch.setenv(HOSTS, f"{name}={url.removesuffix('/mcp')}")
    server = ToolServer(name="web", url=url, headers=((header, name),))
    repeated = (await shared.call(server, "header", {"name": header})).text
    assert repeated == f"{scheme}***"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "OTHER_API_KEY is not set"),
        ("abc-123456", "OTHER_API_KEY is not confirmed for http://127.0.0.1"),
    ],
)
async def test_a_key_goes_nowhere_unconfirmed(
    shared: ToolConnections, url: str, value: str | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("OTHER_API_KEY", value)
    server = ToolServer(name="web", url=url, headers=(("X-Key", "OTHER_API_KEY"),))
    with pytest.raises(ToolError, match=reason):
        await shared.tools(server)


async def test_a_call_that_hangs_costs_itself_alone(shared: ToolConnections, url: str) -> None:
    server = ToolServer(name="web", url=url, seconds=1)
    hanging = asyncio.create_task(shared.call(server, "wait", {"seconds": 100}))
    assert (await shared.call(server, "say", {"text": "meanwhile"})).text == "meanwhile"
    with pytest.raises(ToolError, match="within 1 seconds"):
        await hanging
    assert (await shared.call(server, "say", {"text": "after"})).text == "after"


async def test_a_server_that_died_in_a_call_fails_it_and_is_connected_again(shared: ToolConnections) -> None:
    with served_sample() as url:
        server = ToolServer(name="web", url=url)
        await shared.tools(server)
        with pytest.raises(ToolError, match="gave no answer to a call of 'die'"):
            await shared.call(server, "die", {"words": ""})
    with pytest.raises(ToolError, match="All connection attempts failed"):
        await shared.call(server, "say", {"text": "hi"})
    with served_sample(int(url.split(":")[2].removesuffix("/mcp"))):
        assert (await shared.call(server, "say", {"text": "again"})).text == "again"


async def test_a_server_that_was_started_again_meanwhile_is_connected_again(shared: ToolConnections) -> None:
    with served_sample() as url:
        server = ToolServer(name="web", url=url)
        await shared.call(server, "say", {"text": "hi"})
    with served_sample(int(url.split(":")[2].removesuffix("/mcp"))):
        results = []
        for _ in range(2):
            try:
                results.append((await shared.call(server, "say", {"text": "again"})).text)
            except ToolError as error:
                results.append(str(error))
        assert results[1] == "again"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9/mcp", "All connection attempts failed"),
        ("http://no-such-host.invalid/mcp", "ConnectError"),
    ],
)
async def test_a_server_that_is_not_there_is_named(shared: ToolConnections, url: str, reason: str) -> None:
    with pytest.raises(ToolError, match=f"'web' does not start .*{reason}"):
        await shared.tools(ToolServer(name="web", url=url))


def initialized(request_id: object) -> dict[str, object]:
    info = {"name": "hostile", "version": "0"}
    result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


async def answered(request: Request) -> Response:
    """What a hostile server answers, by its path."""
    way = request.path_params["way"]
    if request.method != "POST":
        return Response(status_code=405)
    message = await request.json()
    if way == "refuses":
        return Response("secret words of the server", status_code=401)
    if way == "redirects":
        return RedirectResponse("http://example.org/mcp", status_code=307)
    if way == "page":
        return Response("<html>", media_type="text/html")
    if "id" not in message:
        return Response(status_code=202)
    if message["method"] == "initialize":
        return JSONResponse(initialized(message["id"]))
    if message["method"] != "tools/call":
        error = {"code": -32601, "message": "none"}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error})

    async def endless(piece: bytes) -> object:
        while not await request.is_disconnected():
            yield piece

    match way:
        case "packed":
            return Response(b"\x1f\x8b", media_type="application/json", headers={"content-encoding": "gzip"})
        case "endless_json":
            return StreamingResponse(endless(b" " * 65_536), media_type="application/json")
        case "endless_event":
            return StreamingResponse(endless(b"data: " + b"x" * 65_536), media_type="text/event-stream")
        case "flood":
            note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
            return StreamingResponse(endless(b"data: " + note + b"\n\n"), media_type="text/event-stream")
        case "silence":
            return StreamingResponse(endless(b": still here\n\n"), media_type="text/event-stream")
        case "cut":
            return StreamingResponse(iter([b"data: {"]), media_type="text/event-stream")
    return Response("{", media_type="application/json")


@pytest.fixture(scope="module")
def hostile_url() -> Iterator[str]:
    app = Starlette(routes=[Route("/{way}", answered, methods=["GET", "POST", "DELETE"])])
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("refuses", "does not start .*HTTP status 401"),
        ("redirects", "does not start .*Redirect to http://example.org/mcp not followed"),
        ("page", "does not start .*Unexpected content type"),
        ("packed", "packs its answers"),
        ("endless_json", "more than 8,388,608 bytes"),
        ("endless_event", "byte limit"),
        ("flood", "1,000 messages in 5 seconds"),
        ("silence", "within 3 seconds"),
        ("cut", "SSE stream ended without a response"),
        ("half", "Failed to parse JSON"),
    ],
)
async def test_a_hostile_server_fails_its_calls_alone(
    shared: ToolConnections, hostile_url: str, way: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server = ToolServer(name="web", url=f"{hostile_url}/{way}", seconds=3 if way == "silence" else 60)
    call = asyncio.create_task(shared.call(server, "do", {}))
    calculator = ToolServer(name="sums", built_in="calculator")
    assert "391" in (await shared.call(calculator, "calculate", {"expression": "17 * 23"})).text
    with pytest.raises(ToolError, match=reason) as error:
        await call
    assert "secret words" not in str(error.value)
    assert len(str(error.value)) < 2_000
    assert capfd.readouterr() == ("", "")
