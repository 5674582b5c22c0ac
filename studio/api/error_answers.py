"""Errors as answers: each one, whatever raised it, has OpenAI's shape.

What concerns the server alone (its store, its pool) goes to the log: clients get no paths and no names of
settings. Knows the library's errors and HTTP statuses.
"""

from __future__ import annotations

import json
import logging
import math

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from conductor.errors import (
    ConductorError,
    FormatError,
    LimitedProcessError,
    LimitReached,
    PoolError,
    QueryError,
    StorageError,
    WorkflowError,
)
from studio.access.errors import ApiError

_log = logging.getLogger(__name__)

NO_RETRY = {"x-should-retry": "false"}
"""Clients do not repeat a run that failed on their own: it would cost as much again."""

_REPEATING = ("codex", "ai-sdk", "qwencode/")
"""Parts of the user agents of clients that repeat a 502 in spite of `NO_RETRY`, and never a 400: Codex 0.171
sends 30 requests, opencode 1.18 (by the AI SDK) 6, Qwen Code 0.15 as many in 90 s. opencode repeats what
names a 5xx in its message, too.
"""

REFUSAL = "conductor.refusal"
"""Where the scope of a request has the error that it was answered with, for the log."""

FAULT = "The server failed while it made this answer; its log has the reason."


class ErrorObject(BaseModel):
    """What is wrong, and with which parameter."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """OpenAI's shape of an error."""

    error: ErrorObject


class Json(JSONResponse):
    """JSON in ASCII, which can write everything that a model may answer, halves of characters included."""

    def render(self, content: object) -> bytes:
        return json.dumps(content).encode()


def unsupported(param: str, reason: str) -> ApiError:
    """A parameter, or its value, that is known and cannot be honoured. The log has the `reason`, which has
    nothing that a client has written.
    """
    message = f"'{param}' cannot be honoured here: {reason}"
    return ApiError(message, param=param, code="unsupported_parameter", reason=reason)


# -- what was raised ------------------------------------------------------------------------------


def api_error(error: ConductorError, *, query_parameter: str = "messages") -> ApiError:
    """The error as an answer; `query_parameter` is the name of the parameter with the question."""
    match error:
        case ApiError():
            return error
        case QueryError():
            return ApiError(str(error), param=query_parameter, code="invalid_query")
        case FormatError() | WorkflowError():
            return ApiError(str(error), param="conductor.workflow", code="invalid_workflow")
        case PoolError():
            return _unusable(error, "pool")
        case StorageError():
            return _unusable(error, "store")
        case LimitReached():
            return _limit_reached(error)
        case LimitedProcessError():
            return _unusable(error, "PDF reader")
        case _:
            return failed_run(str(error), code="no_answer")


def _limit_reached(error: LimitReached) -> ApiError:
    headers = {} if error.seconds is None else {"retry-after": str(math.ceil(error.seconds))}
    if error.rate is None:
        # Clients would try again within seconds.
        headers |= NO_RETRY
    return ApiError(
        str(error),
        status=429,
        type=error.rate or "insufficient_quota",
        code="insufficient_quota" if error.rate is None else "rate_limit_exceeded",
        headers=headers,
    )


def _unusable(error: ConductorError, what: str) -> ApiError:
    """Only the log has the reason; it may be over in a moment, so clients may ask again."""
    code = f"{what.lower().replace(' ', '_')}_unusable"
    _log.error("a request was answered with 503 %s: %s", code, error)
    message = (
        f"The {what} of this server cannot be used at the moment; the server's log has the reason. Ask again "
        "later, or ask the server's owner."
    )
    return ApiError(message, status=503, code=code)


def failed_run(message: str, *, code: str, status: int = 502) -> ApiError:
    """A run that failed, which clients do not repeat. They do repeat what is of the type `server_error`, also
    in a stream, where no header goes out.
    """
    kind = "server_error" if status == 500 else "run_error"
    return ApiError(message, status=status, type=kind, code=code, headers=NO_RETRY)


def server_stopping() -> ApiError:
    """The server is stopping, and this request was not started: the client may retry with another server."""
    message = "This server is stopping; ask again in a moment."
    return ApiError(message, status=503, code="server_stopping")


def stopped_with_server() -> ApiError:
    """The server stopped while it made this answer."""
    message = "The server stopped before this answer was finished; its finished steps are stored."
    return failed_run(message, code="server_stopping", status=503)


# -- what no endpoint answers ----------------------------------------------------------------------


def answer_in_openais_shape(app: FastAPI) -> None:
    """Have every error of the app answered in OpenAI's shape, FastAPI's and Starlette's own included."""
    for kind in (ConductorError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, error_answer)


async def error_answer(http: Request, error: Exception) -> Response:
    """The answer to a request that raised this error, or reached no endpoint."""
    answer = _answered(http, error)
    http.scope[REFUSAL] = answer
    agent = http.headers.get("user-agent", "").lower()
    is_final = NO_RETRY.items() <= answer.headers.items() and any(name in agent for name in _REPEATING)
    return Json(answer.shape, status_code=400 if is_final else answer.status, headers=dict(answer.headers))


def _answered(http: Request, error: Exception) -> ApiError:
    match error:
        case ConductorError():
            return api_error(error)
        case RequestValidationError():
            # Of a parameter outside the body: bodies are read without FastAPI.
            problem = error.errors()[0]
            # Behind "query" or "path"; what follows is the place in a parameter that is given several times.
            param = str(problem["loc"][1])[:200]
            message = f"Invalid value for '{param}': {problem['msg']}."
            return ApiError(message, param=param, code="invalid_value")
        case HTTPException(status_code=status):
            code = {404: "unknown_url", 405: "method_not_allowed"}.get(status)
            headers = {"allow": _allowed(http)} if status == 405 else error.headers
            message = f"{error.detail}: {http.method} {json.dumps(http.url.path[:200])}."
            return ApiError(message, status=status, code=code, headers=headers)
        case _:
            return failed_run(FAULT, code="server_error", status=500)


def _allowed(http: Request) -> str:
    """The methods of the address; FastAPI has a route for each, and names the first one's only."""
    routes = (route for route in http.app.routes if isinstance(route, Route))
    matching = [route.methods or () for route in routes if route.matches(http.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for methods in matching for method in methods}))
