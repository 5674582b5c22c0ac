"""The server over streamable HTTP: which requests reach it, and how it stops.

Every request needs a token of the API; what a call may use and spend is decided when a tool is called. Pages
of other sites are refused as at the API. Knows sockets and HTTP; knows no tool.
"""

from __future__ import annotations

import socket

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conductor.errors import ConductorError
from studio.access.auth import TokenAuthenticator
from studio.access.origin_check import OwnOrigin, configured_hosts
from studio.api.error_answers import error_answer
from studio.api.operating import bearer_and_client
from studio.api.requests.body import read_json
from studio.api.serving.server import RunsServer, listen, url_of
from studio.mcp.callers import Callers
from studio.mcp.tool_server import mcp_server

PATH = "/mcp"
"""Where clients reach it."""

_MACHINE = "this machine"


class KnownToken:
    """Middleware that answers 401 to who has no token of this server, and marks the others by their token's
    id, so that no one continues a connection that another token began.

    The bodies of the others are read here, within the API's limits: the library has none, and logs a body
    that breaks off with a traceback.
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
            if http.method == "POST":
                receive = _first(await read_json(http), receive)
        except ConductorError as error:
            await (await error_answer(http, error))(scope, receive, send)
            return
        name = _MACHINE if token is None else token.id
        # The library keeps it, so the secret is not in it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await self._app(scope, receive, send)


def _first(body: bytes, receive: Receive) -> Receive:
    """What receives that body, which was read already, and then what comes behind it."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return unread.pop() if unread else await receive()

    return read


class McpHttpServer(RunsServer):
    """Serves `callers` at `host`, at a socket that listens there already or at any free port."""

    def __init__(
        self, callers: Callers, *, host: str = "127.0.0.1", listener: socket.socket | None = None
    ) -> None:
        listener = listener or listen(host, 0)
        self.url = url_of(host, listener, path=PATH)
        app = mcp_server(callers).streamable_http_app(
            streamable_http_path=PATH,
            # `OwnOrigin` knows the server's own names as well.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        app.user_middleware[:0] = [
            Middleware(OwnOrigin, hosts=configured_hosts(host)),
            Middleware(KnownToken, auth=callers.auth),
        ]
        super().__init__(app, listener, callers.runs, lifespan="on")
