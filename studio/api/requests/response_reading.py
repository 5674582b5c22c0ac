"""The parameters by which a client reads a stored response: whole, or as a stream from some event on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.stored.visible import StoredResponse


@dataclass(frozen=True)
class ResponseReading:
    """`starting_after` is the number of the last event that the client has; None: it has none. `ignored` are
    the parameters that have no effect: a response is sent as it was answered.
    """

    stream: bool = False
    starting_after: int | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> ResponseReading:
        """What a query string asks for. Raises `ApiError` for a parameter that cannot be honoured."""
        values: dict[str, str] = {}
        ignored: list[str] = []
        for name, value in parameters:
            if name not in ("stream", "starting_after"):
                if (name, value) != ("include_obfuscation", "false"):
                    ignored.append(name.removesuffix("[]"))
                continue
            if name in values:
                message = f"'{name}' is given twice; take one out."
                raise ApiError(message, param=name, code="invalid_value")
            values[name] = value
        stream, after = values.get("stream", "false"), values.get("starting_after")
        if stream not in ("true", "false"):
            raise ApiError("'stream' is true or false.", param="stream", code="invalid_value")
        if after is None:
            return cls(stream=stream == "true", ignored=tuple(ignored))
        if stream == "false":
            raise unsupported("starting_after", "nothing is streamed.")
        if not (after.isascii() and after.isdecimal() and len(after) <= 9):
            message = "'starting_after' is the number of an event, from 0."
            raise ApiError(message, param="starting_after", code="invalid_value")
        return cls(stream=True, starting_after=int(after), ignored=tuple(ignored))

    def after(self, response: StoredResponse) -> int:
        """The number after which events are sent. Raises `ApiError` where they had other numbers."""
        if self.starting_after is None:
            return -1
        if response.origin is not None and response.origin.events:
            raise unsupported(
                "starting_after",
                "this stream also has the run's events, which are not sent again; leave it out to read the "
                "answer from its beginning.",
            )
        return self.starting_after
