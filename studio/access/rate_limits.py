"""Limits rates: the headers with a client's rates, and how often a login may be tried.

The store counts the rates of tokens and people, for all of its processes; attempts at a login are counted by
each process for itself. The windows of the library `limits` do not fit: what a request uses is known when it
is over and may exceed the limit, and they drop that excess; its storage also starts a thread for each count.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from storage.limits import MINUTE, Levels, Limits, Rate

_MOST_BUCKETS = 10_000


class Admission(NamedTuple):
    """Whether a request may go on: `wait` is 0, or the seconds to wait for the limit of this `kind`;
    `headers` have each limit, what is left of it and when it is full again, named as OpenAI's.
    """

    wait: float
    kind: Rate
    headers: Mapping[str, str]


def admission(limits: Limits, levels: Levels) -> Admission:
    headers: dict[str, str] = {}
    for kind, limit, level in levels.of(limits):
        headers |= {
            f"x-ratelimit-limit-{kind}": str(limit),
            f"x-ratelimit-remaining-{kind}": str(max(0, math.floor(level + 1e-9))),
            f"x-ratelimit-reset-{kind}": duration(max(0.0, (limit - level) * MINUTE / limit)),
        }
    return Admission(*levels.wait(limits), headers)


@dataclass
class _Bucket:
    level: float
    at: float


class Attempts:
    """What clients have tried in this process. Used by one thread; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, client: str, limit: int) -> float:
        """Seconds until the client may try, who may `limit` times a minute; where they are 0, it is taken."""
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(level=limit, at=now))
        self._buckets.move_to_end(client)
        while len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        bucket.level = min(limit, bucket.level + (now - bucket.at) * limit / MINUTE)
        bucket.at = now
        if bucket.level < 1:
            return (1 - bucket.level) * MINUTE / limit
        bucket.level -= 1
        return 0.0


def duration(seconds: float) -> str:
    """Seconds as OpenAI's headers write them: 0s, 20ms, 1.5s, 6m0s."""
    milliseconds = math.ceil(seconds * 1000 - 1e-6)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds > 0 else "0s"
    minutes, rest = divmod(milliseconds, 60_000)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{minutes}m{text}s" if minutes else f"{text}s"
