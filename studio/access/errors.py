"""The errors of a login, and an error that the API answers with, in OpenAI's shape.

Knows statuses and the error object; knows nothing of requests, runs or transports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conductor.errors import ConductorError

_TYPES = {401: "authentication_error", 403: "permission_error"}


class LoginError(ConductorError):
    """A person cannot log in."""


class ApiError(ConductorError):
    """The request is answered with an error. `param` names the parameter that caused it, if any. `reason`
    is why, in words that have nothing of the request: the log has them.

    `headers` go out with it, such as `retry-after` where asking later helps. Where no `type` is given, it
    follows from the status.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str | None = None,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type or _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        self.param = param
        self.code = code
        self.headers = headers or {}
        self.reason = reason

    @property
    def shape(self) -> dict[str, Any]:
        """`{"error": {"message", "type", "param", "code"}}`."""
        error = {"message": str(self), "type": self.type, "param": self.param, "code": self.code}
        return {"error": error}
