"""What the attempts of one call share: its time, its attempts and its key.

Knows the running loop's time and a worker's limits.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from conductor.workers.limits import Limits
from conductor.workers.retries import Retries


@dataclass
class Call:
    """One call. All its attempts together may take `total` seconds, without the wait for the first one.

    `until` is the loop time at which they end, None before the first.
    """

    limits: Limits
    retries: Retries
    total: float
    key: str | None = field(default=None, repr=False)
    until: float | None = None

    async def enter(self) -> float:
        """Wait until an attempt may begin; `until`. Raises `TimeoutError` when that is past."""
        async with asyncio.timeout_at(self.until):
            await self.limits.enter()
        if self.until is None:
            self.until = asyncio.get_running_loop().time() + self.total
        return self.until

    def leave(self) -> None:
        """The attempt has ended."""
        self.limits.leave()

    def can_wait(self, seconds: float) -> bool:
        """Whether another attempt could begin after this pause."""
        return self.until is None or asyncio.get_running_loop().time() + seconds < self.until
