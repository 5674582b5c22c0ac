"""When a failed request is asked again: how often, and after how long.

Knows failures, not requests. The pauses grow at random; a server's own Retry-After goes before them.
"""

from __future__ import annotations

import random

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from conductor.workers.failures import EndpointFailure

LONGEST_PAUSE = 60.0
"""Seconds; a server that asks for more is asked again after this."""

_BACKOFF = wait_random_exponential(multiplier=0.5, min=0.1, max=8)
_JITTER = 0.1


class Retries:
    """The attempts of one call, of which there are at most 1 + `retries`."""

    def __init__(self, retries: int) -> None:
        self._retrying = Retrying(
            stop=stop_after_attempt(retries + 1),
            wait=_pause,
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        self._retrying.begin()
        self._call = RetryCallState(self._retrying, fn=None, args=(), kwargs={})

    def pause(self, failure: EndpointFailure) -> float:
        """The seconds before the next attempt. Raises `failure` where there is none."""
        self._call.set_exception((type(failure), failure, failure.__traceback__))
        self._retrying.iter(self._call)
        seconds = self._call.upcoming_sleep
        self._call.prepare_for_next_attempt()
        return seconds


def pause_note(failure: EndpointFailure) -> str:
    """What to add where a server asked for a longer pause than it gets, "" elsewhere."""
    if failure.retry_after is None or failure.retry_after <= LONGEST_PAUSE:
        return ""
    return f"; it asks for {failure.retry_after:,.0f} seconds, of which {LONGEST_PAUSE:.0f} are waited"


def _pause(call: RetryCallState) -> float:
    failure = call.outcome.exception() if call.outcome is not None else None
    if not isinstance(failure, EndpointFailure) or failure.retry_after is None:
        return _BACKOFF(call)
    asked = min(failure.retry_after, LONGEST_PAUSE)
    # Callers that were turned away together shall not come back together.
    return asked + random.uniform(0, asked * _JITTER)  # noqa: S311 - no secret


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, EndpointFailure) and error.transient
