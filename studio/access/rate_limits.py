"""How much a minute may bring: buckets that fill evenly, and the headers that report them.

Pure but for the clock that is given; knows neither tokens nor requests. Each process counts for itself. The
windows of the library `limits` do not fit: what a request uses is known when it is over and may exceed the
limit, and they drop that excess; its storage also starts a thread for each count and reads the wall clock.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["requests", "tokens"]

_MINUTE = 60.0
_MOST_BUCKETS = 10_000


@dataclass
class Bucket:
    """What is left of a minute's `limit`; it is full a minute after it was empty.

    More may be taken than there is, and the debt is waited for.
    """

    limit: int
    level: float
    at: float

    def fill(self, now: float) -> None:
        self.level = min(self.limit, self.level + (now - self.at) * self.limit / _MINUTE)
        self.at = now

    def wait(self, amount: float) -> float:
        """Seconds until there is so much; 0 where there is."""
        return max(0.0, (amount - self.level) * _MINUTE / self.limit)

    def headers(self, kind: Kind) -> Mapping[str, str]:
        """The limit, what is left of it and when it is full again, named as OpenAI's headers."""
        return {
            f"x-ratelimit-limit-{kind}": str(self.limit),
            f"x-ratelimit-remaining-{kind}": str(max(0, math.floor(self.level + 1e-9))),
            f"x-ratelimit-reset-{kind}": duration(self.wait(self.limit)),
        }


@dataclass(frozen=True)
class Admission:
    """Whether a request may go on: `wait` is 0, or the seconds to wait for the limit of this `kind`."""

    wait: float
    kind: Kind
    headers: Mapping[str, str]


class RateLimits:
    """The buckets of all clients. Used by one thread; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: OrderedDict[tuple[str, Kind], Bucket] = OrderedDict()

    def admit(self, client: str, *, requests: int | None, tokens: int | None) -> Admission:
        """Take a request from the limits a minute, unless it has to wait; None is no limit.

        Of tokens, one only has to be left: `spend` takes those that the request used.
        """
        limits: dict[Kind, int | None] = {"requests": requests, "tokens": tokens}
        buckets = {
            kind: self._bucket(client, kind, limit) for kind, limit in limits.items() if limit is not None
        }
        waits = {kind: bucket.wait(1) for kind, bucket in buckets.items()}
        longest: Kind = max(waits, key=waits.__getitem__, default="requests")
        wait = waits.get(longest, 0.0)
        if not wait and "requests" in buckets:
            buckets["requests"].level -= 1
        headers: dict[str, str] = {}
        for kind, bucket in buckets.items():
            headers |= bucket.headers(kind)
        return Admission(wait=wait, kind=longest, headers=headers)

    def spend(self, client: str, tokens: int) -> None:
        """Take the tokens that a request used, where they are limited."""
        bucket = self._buckets.get((client, "tokens"))
        if bucket is not None:
            bucket.fill(self._clock())
            bucket.level -= tokens

    def _bucket(self, client: str, kind: Kind, limit: int) -> Bucket:
        now = self._clock()
        bucket = self._buckets.get((client, kind))
        if bucket is None or bucket.limit != limit:
            bucket = self._buckets[client, kind] = Bucket(limit=limit, level=limit, at=now)
        self._buckets.move_to_end((client, kind))
        while len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.fill(now)
        return bucket


def duration(seconds: float) -> str:
    """Seconds as OpenAI's headers write them: 0s, 20ms, 1.5s, 6m0s."""
    milliseconds = math.ceil(seconds * 1000 - 1e-6)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds > 0 else "0s"
    minutes, rest = divmod(milliseconds, 60_000)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{minutes}m{text}s" if minutes else f"{text}s"
