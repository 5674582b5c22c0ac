"""The log probability of each token of an answer, as the model reported it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field

MAX_TOP_LOGPROBS = 20
"""Likely tokens that may be asked for at each place, as many as OpenAI gives."""

# Read again where a value takes one, which makes its text portable.
_CONFIG = ConfigDict(
    frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True, revalidate_instances="always"
)


@dataclass(frozen=True, slots=True)
class TopLogprob:
    """A token that could stand at one place, and the natural logarithm of its probability.

    `bytes` are those of its UTF-8: a character may be spread over several tokens. None: they are unknown.
    """

    # Dataclasses, as `Part` is one: an answer has thousands.
    __pydantic_config__ = _CONFIG

    token: str
    logprob: float
    bytes: tuple[int, ...] | None = None

    @property
    def wire(self) -> dict[str, Any]:
        """An element of `top_logprobs`."""
        return _wire(self)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of an answer, as `TopLogprob`, and the likeliest ones at its place."""

    __pydantic_config__ = _CONFIG

    token: str
    logprob: float
    bytes: tuple[int, ...] | None = None
    top: Annotated[tuple[TopLogprob, ...], Field(exclude_if=lambda top: not top)] = ()

    @property
    def wire(self) -> dict[str, Any]:
        """An element of `logprobs.content`."""
        return {**_wire(self), "top_logprobs": [one.wire for one in self.top]}


def _wire(one: TopLogprob | TokenLogprob) -> dict[str, Any]:
    numbers = None if one.bytes is None else list(one.bytes)
    return {"token": one.token, "logprob": one.logprob, "bytes": numbers}
