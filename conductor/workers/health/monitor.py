"""Examinations in a background loop: started and read from any thread; stores the newest of each target.

Knows how an examination is started, followed and stopped; `probe` does the examination.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

from conductor.workers.health.findings import Health
from conductor.workers.health.probe import AT_ONCE, examine
from conductor.workers.health.targets import ProbeTarget

Spawn = Callable[[Coroutine[Any, Any, None]], "Future[None]"]
"""Begins a coroutine in the loop, from any thread."""

_log = logging.getLogger(__name__)


class HealthProbe:
    """One a loop. What is known of a target ends with its mark: another endpoint was not examined."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._health: dict[str, Health] = {}
        self._going: dict[str, Future[None]] = {}
        self._beginning = threading.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)

    def begin(self, targets: Iterable[ProbeTarget]) -> None:
        """Examine them, several at a time; examinations under way continue. Returns at once."""
        with self._beginning:
            for target in targets:
                if not self.examines(target):
                    self._health[target.mark] = Health()
                    self._going[target.mark] = self._spawn(self._follow(target))

    def examines(self, target: ProbeTarget) -> bool:
        """Whether its examination is under way."""
        going = self._going.get(target.mark)
        return going is not None and not going.done()

    @property
    def busy(self) -> bool:
        """Whether any is under way."""
        return any(not going.done() for going in tuple(self._going.values()))

    def health(self, target: ProbeTarget) -> Health | None:
        """What is known of it, None where it was not examined to the end and is not now."""
        health = self._health.get(target.mark)
        return health if health is not None and (health.done or self.examines(target)) else None

    def stop(self) -> None:
        """End those under way; what is known of the others stays."""
        for going in tuple(self._going.values()):
            going.cancel()

    async def _follow(self, target: ProbeTarget) -> None:
        try:
            async with self._places, aclosing(examine(target)) as states:
                async for health in states:
                    self._health[target.mark] = health
        except Exception:
            # Nothing waits for the future, so an exception in it would go unseen.
            _log.exception("examining %s broke", target.name)
            raise
