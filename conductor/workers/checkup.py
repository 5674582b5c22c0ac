"""Examinations in a background loop: begun and read from any thread, the newest of each subject kept.

Knows how an examination is begun, followed and stopped; what it finds is health's.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

from conductor.workers.findings import Health
from conductor.workers.health import AT_ONCE, examine
from conductor.workers.subject import Subject

Spawn = Callable[[Coroutine[Any, Any, None]], "Future[None]"]
"""Begins a coroutine in the loop, from any thread."""

_log = logging.getLogger(__name__)


class Checkup:
    """One a loop. What is known of a subject ends with its mark: another endpoint was not examined."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._health: dict[str, Health] = {}
        self._going: dict[str, Future[None]] = {}
        self._beginning = threading.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)

    def begin(self, subjects: Iterable[Subject]) -> None:
        """Examine them, several at a time; those that are being examined go on. Returns at once."""
        with self._beginning:
            for subject in subjects:
                if not self.examines(subject):
                    self._health[subject.mark] = Health()
                    self._going[subject.mark] = self._spawn(self._follow(subject))

    def examines(self, subject: Subject) -> bool:
        """Whether its examination is under way."""
        going = self._going.get(subject.mark)
        return going is not None and not going.done()

    @property
    def busy(self) -> bool:
        """Whether any is under way."""
        return any(not going.done() for going in tuple(self._going.values()))

    def health(self, subject: Subject) -> Health | None:
        """What is known of it, None where it was not examined to the end and is not now."""
        health = self._health.get(subject.mark)
        return health if health is not None and (health.done or self.examines(subject)) else None

    def stop(self) -> None:
        """End those under way; what is known of the others stays."""
        for going in tuple(self._going.values()):
            going.cancel()

    async def _follow(self, subject: Subject) -> None:
        try:
            async with self._places, aclosing(examine(subject)) as states:
                async for health in states:
                    self._health[subject.mark] = health
        except Exception:
            # Nobody waits for the future, which would keep this to itself.
            _log.exception("examining %s broke", subject.name)
            raise
