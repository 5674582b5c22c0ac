"""What the endpoint says instead of an answer, in OpenAI's shape.

Knows statuses and the error object; knows nothing of requests or transports.
"""

from __future__ import annotations

from typing import Any

from conductor.errors import ConductorError


class Refusal(ConductorError):
    """The request is answered with an error. `param` names the field that is to blame, if any."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.param = param
        self.code = code

    @property
    def shape(self) -> dict[str, Any]:
        """`{"error": {"message", "type", "param", "code"}}`."""
        said = {"message": str(self), "type": self.type, "param": self.param, "code": self.code}
        return {"error": said}
