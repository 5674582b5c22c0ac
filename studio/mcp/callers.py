"""The callers of tools, each with the backend, the runs, and the limits of its token.

Over stdio the caller is this machine's user; over HTTP each call is admitted by its bearer token, as a
request of the API is. Knows the context of a call; knows no tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from starlette.requests import Request

from conductor.errors import ConductorError
from storage.records import Session
from storage.store import SessionStore
from studio.access.auth import Principal, TokenAuthenticator
from studio.access.errors import ApiError
from studio.api.answers.response_run import ResponseRuns
from studio.api.backend import Backend
from studio.api.operating import bearer_and_client
from studio.api.stored.visible import visible_session

P = ParamSpec("P")
T = TypeVar("T")
Call = Context[Any, Any]


@dataclass(frozen=True)
class Callers:
    """What the tools work on. `local`: all calls are those of this machine's user, as over stdio."""

    backend: Backend
    auth: TokenAuthenticator
    local: bool
    runs: ResponseRuns

    @classmethod
    def of(cls, backend: Backend, auth: TokenAuthenticator, *, local: bool) -> Callers:
        return cls(backend, auth, local, ResponseRuns(backend, auth))

    async def principal(self, call: Call) -> Principal:
        """Who calls, and what they may use; the call counts against the limits of their token.

        Raises `ApiError` where they may not.
        """
        if self.local:
            return Principal()
        http = call.request_context.request
        if not isinstance(http, Request):
            raise ApiError("This call came without a request, so no token admits it.", status=401)
        return await self.auth.authenticate(*await bearer_and_client(http))


def open_session(store: SessionStore, id: str, *, principal: Principal) -> Session:
    """The session of that id. Raises `ApiError` without one for this caller."""
    session = visible_session(store, id, token=principal.token)
    if session is None:
        raise ApiError(
            f"There is no session {id[:100]!r}: it was deleted, or is another token's; list_sessions lists "
            "those that are there.",
            status=404,
            param="session",
        )
    return session


def with_call_errors(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The tool, whose errors that a caller can act on become errors of the call, by their messages.

    Any other error is logged, and the caller only reads that the tool failed.
    """

    @wraps(tool)
    async def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except ConductorError as error:
            raise ToolError(str(error)) from error

    return called
