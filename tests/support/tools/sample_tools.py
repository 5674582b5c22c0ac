"""A server of tools by the official library, as a program: over stdio, or with `http PORT` on loopback.

The port 0 is a free one; it prints which.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("sample", version="1.2", log_level="WARNING")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def say(text: str) -> str:
    """Answers the words."""
    return text


@server.tool()
def variables() -> dict[str, str]:
    return dict(os.environ)


@server.tool()
def process() -> str:
    return str(os.getpid())


@server.tool()
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
async def append(path: str, text: str, seconds: float = 0.0) -> str:
    """Writes a line at the end of a file, and takes its time after that."""
    with Path(path).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - one line
        file.write(f"{text}\n")
    await asyncio.sleep(seconds)
    return f"wrote {text}"


@server.tool()
def die(words: str) -> str:
    print(words, file=sys.stderr, flush=True)
    os._exit(3)


@server.tool(structured_output=False)
def pictures() -> CallToolResult:
    data = base64.b64encode(bytes(3_000)).decode()
    return CallToolResult(
        content=[
            TextContent(text="first"),
            ImageContent(data=data, mime_type="image/png"),
            AudioContent(data=data, mime_type="audio/wav"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="secret text")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///b", blob=data)),
            TextContent(text="last"),
        ]
    )


@server.tool(structured_output=False)
def numbers() -> CallToolResult:
    return CallToolResult(content=[], structured_content={"sum": 3})


@server.tool()
def header(name: str, context: Context[Any, Any]) -> str:
    """The header of the request, over HTTP."""
    return str((context.headers or {}).get(name.lower()))


@server.tool()
async def add_tool(context: Context[Any, Any]) -> str:
    """From now on there is one more tool."""
    server.add_tool(lambda: "new", name="added")
    await context.session.send_tool_list_changed()
    return "added"


if __name__ == "__main__":
    if sys.argv[1:2] != ["http"]:
        server.run("stdio")
    else:
        listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
        uvicorn.Server(config).run(sockets=[listener])
