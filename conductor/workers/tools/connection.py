"""One connection to a server of tools, from its start to its end. Of the loop in which it is made.

Knows the protocol's library; `connections` shares the connections.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    Implementation,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import TypeAdapter

from conductor.errors import ConductorError, ToolError
from conductor.own_settings import passed_environment
from conductor.text.bounded_value import json_value, within_bounds
from conductor.text.control_characters import visible
from conductor.text.formatting import size
from conductor.text.json_text import portable
from conductor.values.message_parts import tools as offered
from conductor.workers.keys.mask import Mask
from conductor.workers.keys.secret import known_keys
from conductor.workers.tools.built_in_servers import built_in_server
from conductor.workers.tools.tool_server import MAX_RESULT, ServedTool, ToolResult, ToolServer
from conductor.workers.tools.transports import Ending, over_http, over_pipes, watched

START_SECONDS = 30.0
"""How long a server may take to start, and once more to list its tools."""

_END_SECONDS = 8.0
_MAX_DESCRIPTION, _MAX_NAME, _MAX_WHY = 4_000, 200, 800
_PASSED = ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PAT$", re.IGNORECASE)
_ANSWER: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
_SELF = Implementation(name="conductor-studio", version="1")
_LOST = (
    "Connection closed", "SSE stream", "Session terminated", "Server returned an error response", "Not Found",
    "Unexpected content type", "Failed to parse", "server answered a request with 202", "Redirect to",
)  # fmt: skip
"""How the library begins an error of its own, the first over pipes and all over HTTP: there was no answer."""


class Connection:
    """A connection to `server`, which starts now. It ends by itself or by `end`, and never begins again."""

    def __init__(self, server: ToolServer) -> None:
        self._server = server
        self._ending = Ending()
        self._secrets: list[str] = []
        self._client: Client | None = None
        self._is_listed = False
        self._settled, self._over = asyncio.Event(), asyncio.Event()
        self._life = asyncio.create_task(self._live())

    @property
    def is_over(self) -> bool:
        return self._settled.is_set() and self._over.is_set()

    async def end(self) -> None:
        """End it, which takes some seconds at most."""
        if not self._settled.is_set():
            self._life.cancel()
        self._over.set()
        await asyncio.wait({self._life}, timeout=_END_SECONDS)

    async def tools(self) -> tuple[ServedTool, ...]:
        """What it serves now: `MAX_TOOLS` at most, and no tool of too large a schema. Raises `ToolError`."""
        client, served, cursor = await self._started(), dict[str, ServedTool](), None
        self._is_listed = True
        try:
            async with self._answering("gave no list of its tools", START_SECONDS):
                # A page may have no tool, and another one after it.
                for _ in range(offered.MAX_TOOLS):
                    page = await client.list_tools(cursor=cursor)
                    for tool in map(self._served, page.tools[: offered.MAX_TOOLS]):
                        if tool is not None:
                            served.setdefault(tool.name, tool)
                    if (cursor := page.next_cursor) is None or len(served) >= offered.MAX_TOOLS:
                        break
        except MCPError as fault:
            if fault.code != METHOD_NOT_FOUND:
                raise self._error(f"refuses to list its tools: {fault.message[:_MAX_NAME]}", "") from fault
        return tuple(served.values())[: offered.MAX_TOOLS]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The result of a call, which is made once. Raises `ToolError` where there was no answer."""
        client = await self._started()
        if self._server.url is not None and not self._is_listed:
            # Some arguments are sent as headers, too, which the list names.
            with suppress(ToolError):
                await self.tools()
        began = monotonic()

        def error(text: str) -> ToolResult:
            return bounded_result(text, self._mask(), monotonic() - began, is_error=True)

        try:
            sent = json_value(
                portable(json.dumps(within_bounds(dict(arguments)), ensure_ascii=False, allow_nan=False))
            )
        except (TypeError, ValueError) as fault:
            return error(f"The arguments are no JSON: {fault}")
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=sent))
        try:
            async with self._answering(f"gave no answer to a call of {tool!r}", self._server.seconds):
                # Not the client's `call_tool`: that may call again, and checks by patterns of the server's.
                answer = await client.session.send_request(request, _ANSWER)
        except MCPError as fault:
            return error(fault.message)
        if isinstance(answer, InputRequiredResult):
            return error("The tool wants to ask its user or a model, which it cannot here.")
        return tool_result(answer, self._mask(), monotonic() - began)

    # -- its life ----------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            await self._serve("auto")
            if self._client is None and self._server.command and self._over.is_set():
                # Older servers may end at the question with which a client of the newer protocol begins.
                self._ending, self._over = Ending(), asyncio.Event()
                await self._serve("legacy")
        finally:
            self._over.set()
            self._settled.set()

    async def _serve(self, mode: str) -> None:
        """Open and close the client, which has to be done in one task."""
        try:
            client = Client(self._target(), client_info=_SELF, mode=mode)
            async with asyncio.timeout(START_SECONDS) as start, client:
                start.reschedule(None)
                self._client = client
                self._settled.set()
                await self._over.wait()
        except TimeoutError:
            self._ending.note(f"it was not ready within {START_SECONDS:g} seconds")
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - raised where the server is used
            self._ending.note(_words(error))

    def _target(self) -> Any:
        """What a client connects to. Raises `PoolError` where a key may not be sent."""
        server, ending = self._server, self._ending
        if server.built_in is not None:
            return built_in_server(server.built_in)
        if server.url is not None:
            streams = over_http(
                server, {name: self._header(name, key) for name, key in server.headers}, ending
            )
        else:
            environment = passed_environment(*_PASSED, *server.env)
            self._secrets = [environment.get(name, "") for name in server.env if _SECRET.search(name)]
            streams = over_pipes(server, environment, ending)
        return watched(streams, ending, self._over.set)

    def _header(self, name: str, variable: str) -> str:
        key = self._server.key_endpoint(variable).key() or ""
        return f"Bearer {key}" if name.lower() == "authorization" and " " not in key else key

    async def _started(self) -> Client:
        await self._settled.wait()
        if self._client is None:
            raise self._error("does not start", "Correct its entry in the pool file, or try it by hand.")
        return self._client

    # -- what goes wrong ---------------------------------------------------------------------------

    @asynccontextmanager
    async def _answering(self, failure: str, seconds: float) -> AsyncIterator[None]:
        """Wait for an answer in the block. Raises `ToolError` without one, `MCPError` for an error."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            advice = "It was cancelled there and may have acted; allow more seconds, or see what holds it up."
            raise self._error(f"{failure} within {seconds:g} seconds", advice) from error
        except MCPError as error:
            if not error.message.startswith(_LOST[:1] if self._server.url is None else _LOST):
                raise
            await self.end()
            self._ending.note(error.message)
            advice = "It may have acted; the server is started again when it is needed next."
            raise self._error(failure, advice) from error
        except Exception as error:
            advice = "See whether there is a newer version of it."
            raise self._error(f"{failure} that the protocol allows ({_words(error)})", advice) from error

    def _error(self, what: str, advice: str) -> ToolError:
        why, log = self._ending.why, " ".join(self._ending.log.decode(errors="replace").split())
        if why and self._ending.status >= 400:
            why += f"; HTTP status {self._ending.status}"
        if why and log:
            why = f"{why[:_MAX_WHY]}; it wrote last: {log[-_MAX_WHY:]}"
        text = f"The tool server {self._server.name!r} {what}{why and f' ({why})'}. {advice}"
        return ToolError(visible(self._mask()(text), pictures=False).rstrip())

    def _mask(self) -> Mask:
        return Mask((*known_keys(), *self._secrets))

    def _served(self, tool: Tool) -> ServedTool | None:
        try:
            parameters = offered.Tool.of("tool", parameters=tool.input_schema).parameters
        except ValueError:
            return None
        if self._client is None or not 0 < len(tool.name) <= _MAX_NAME:
            return None
        hints = (tool.annotations if self._server.trust else None) or ToolAnnotations()
        info = self._client.server_info
        return ServedTool(
            server=self._server.name,
            name=tool.name,
            description=(tool.description or "")[:_MAX_DESCRIPTION],
            parameters=parameters,
            reads_only=hints.read_only_hint,
            idempotent=hints.idempotent_hint,
            destructive=hints.destructive_hint,
            open_world=hints.open_world_hint,
            server_version="" if info is None else f"{info.name} {info.version}"[:_MAX_NAME],
        )


def _words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error) if isinstance(error, ConductorError) else f"{type(error).__name__}: {error}"
    return text[:_MAX_WHY].rstrip(": ")


def tool_result(result: CallToolResult, mask: Mask, seconds: float) -> ToolResult:
    """Its texts, else its structured content as JSON, with a line for each content of another kind."""
    parts = [_part(block) for block in result.content]
    has_text = any(isinstance(block, TextContent) for block in result.content)
    if not has_text and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return bounded_result("\n".join(parts), mask, seconds, is_error=result.is_error)


def bounded_result(text: str, mask: Mask, seconds: float, *, is_error: bool) -> ToolResult:
    """The result with this text; one of more than `MAX_RESULT` characters is cut, with a line about it."""
    text, length = mask(text), None
    if len(text) > MAX_RESULT:
        length = len(text)
        text = f"{text[:MAX_RESULT]}\n[cut: the first {MAX_RESULT:,} of {length:,} characters]"
    return ToolResult(text=text, is_error=is_error, seconds=seconds, cut=length)


def _part(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    file: Any = block.resource if isinstance(block, EmbeddedResource) else block
    encoded = getattr(file, "data", None) or getattr(file, "blob", None) or ""
    length = len(encoded) * 3 // 4 or len(getattr(file, "text", "").encode(errors="replace"))
    parts = (getattr(file, "uri", None), file.mime_type, size(length) if length else None)
    return f"[{block.type}: {', '.join(' '.join(part.split())[:_MAX_NAME] for part in parts if part)}]"
