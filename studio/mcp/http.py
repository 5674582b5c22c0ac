"""The server over streamable HTTP: which requests reach it, and how it stops.

Every request needs a token of the API; what a call may use and spend is decided when a tool is called. Pages
of other sites are refused as at the API. Knows sockets and HTTP; knows no tool.
"""

from __future__ import annotations

import asyncio
import socket
from threading import Event

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from conductor.errors import ConductorError
from studio.access.auth import TokenAuthenticator
from studio.access.origin_check import OwnOrigin, configured_hosts
from studio.api.errors import error_answer
from studio.api.serving.server import (
    CLOSING_SECONDS,
    PunctualConnection,
    allow_many_connections,
    listen,
    url_of,
)
from studio.mcp.callers import Callers, bearer_and_client
from studio.mcp.server import mcp_server

PATH = "/mcp"
"""Where clients reach it."""

_MACHINE = "this machine"


class KnownToken:
    """Middleware that answers 401 to who has no token of this server, and marks the others by their token's
    id, so that no one continues a connection that another token began.
    """

    def __init__(self, app: ASGIApp, *, auth: TokenAuthenticator) -> None:
        self._app, self._auth = app, auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        http = Request(scope, receive)
        try:
            token = await self._auth.identify(*await bearer_and_client(http))
        except ConductorError as error:
            await (await error_answer(http, error))(scope, receive, send)
            return
        name = _MACHINE if token is None else token.id
        # The library keeps it, so the secret is not in it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await self._app(scope, receive, send)


class McpHttpServer(uvicorn.Server):
    """Serves `callers` at `host`, at a socket that listens there already or at any free port; `run` blocks
    until it is stopped. `ready` is set once it answers.
    """

    def __init__(
        self, callers: Callers, *, host: str = "127.0.0.1", listener: socket.socket | None = None
    ) -> None:
        allow_many_connections()
        self._listener = listener or listen(host, 0)
        self.url = url_of(host, self._listener, path=PATH)
        self.ready = Event()
        self.callers = callers
        app = mcp_server(callers).streamable_http_app(
            streamable_http_path=PATH,
            # `OwnOrigin` knows the server's own names as well.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        app.user_middleware[:0] = [
            Middleware(OwnOrigin, hosts=configured_hosts(host)),
            Middleware(KnownToken, auth=callers.auth),
        ]
        config = uvicorn.Config(
            app,
            loop="auto",
            http=PunctualConnection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        super().run(sockets=sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; afterwards `ready` is set."""
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; before the connections close, each call under way ends with an error."""
        stopping = asyncio.create_task(self.callers.runs.stop())
        await super().shutdown(sockets=sockets)
        await stopping
