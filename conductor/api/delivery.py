"""One task under way: its events as they come, and what is to be done when it is over or nobody listens.

Knows the protocols of the orchestra and the gate; nothing of how an answer is written.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any

from conductor.api.answer import Answer
from conductor.api.caller import Caller, Gate
from conductor.api.orchestra import Orchestra, Performance, Task
from conductor.errors import ConductorError
from conductor.events import Event

_log = logging.getLogger(__name__)


class Afterwards:
    """Work that outlives the request that caused it."""

    def __init__(self) -> None:
        self._going: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether any is left to do."""
        return bool(self._going)

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin; a fault is told in the log, and not to whoever waits for it."""
        task = asyncio.create_task(self._logged(work))
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return task

    @staticmethod
    async def _logged(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - nobody waits for it who could be told otherwise
            _log.exception("what followed a request broke")


class Delivery:
    """`answer` is what came so far; `seconds` how long it has taken; `kept`: its session stays afterwards."""

    def __init__(
        self,
        performance: Performance,
        answer: Answer,
        *,
        gate: Gate,
        caller: Caller,
        afterwards: Afterwards,
        kept: bool,
    ) -> None:
        self.session = performance.session
        self.answer = answer
        self.kept = kept
        self.begun_at = time.time()
        self._performance = performance
        self._gate = gate
        self._caller = caller
        self._afterwards = afterwards
        self._begun = time.monotonic()
        self._over = False
        self._left = False

    @classmethod
    async def begin(
        cls,
        task: Task,
        *,
        stops: Sequence[str],
        live: bool,
        orchestra: Orchestra,
        gate: Gate,
        caller: Caller,
        afterwards: Afterwards,
    ) -> Delivery:
        """Begin the task. See `Answer` for `stops` and `live`."""
        performance = await orchestra.begin(task)
        # A workflow that is given is run once.
        rounds = task.settings.rounds if task.workflow is None else 1
        answer = Answer(rounds=rounds, stops=stops, live=live)
        return cls(performance, answer, gate=gate, caller=caller, afterwards=afterwards, kept=task.keep)

    @property
    def seconds(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._begun

    @property
    def trouble(self) -> Exception | None:
        """What broke it off, where its events do not tell."""
        return self._performance.trouble

    async def progress(self) -> AsyncGenerator[tuple[Event, str], None]:
        """Each event with what it adds to the answer. What was used is counted before the end is told."""
        async for event in self._performance.events():
            yield event, self.answer.hear(event)
        self._over = True
        await asyncio.shield(self._afterwards.begin(self._count()))

    async def whole(self) -> None:
        """Hear all of it."""
        async for _ in self.progress():
            pass

    async def keep(self, response: dict[str, Any]) -> None:
        """Keep the response as it is about to be told, where its session is kept at all.

        Where it cannot be kept the log tells so: it was made, and is told all the same.
        """
        if not self.kept:
            return
        try:
            await self._performance.keep_response(json.dumps(response))
        except ConductorError:
            _log.exception("the response of the session %s was not kept", self.session)

    def leave(self) -> None:
        """Nobody listens any more: what still goes on is stopped. Called in any case, and once at least."""
        if not self._left:
            self._left = True
            self._afterwards.begin(self._wind_up())

    async def _wind_up(self) -> None:
        if not self._over:
            await self._performance.stop()
            async for event in self._performance.events():
                self.answer.tally.hear(event)
            # Apart, so that it is put away also where it cannot be counted.
            await self._afterwards.begin(self._count())
        await self._performance.put_away()

    async def _count(self) -> None:
        await self._gate.spent(self._caller, self.answer.tally.usage)
