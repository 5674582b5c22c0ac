"""What goes on in each session of this process: planning, running or nothing, one thing at a time.

Knows that something goes on and how it broke off, not what it does; what begins is conducting's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Any

from conductor.background import Background, LivePlan, LiveRun
from conductor.errors import ConductorError, WorkflowError
from storage.alternatives import LiveAlternatives

ENDING_SECONDS = 0.5
"""How long a run that has told its end may take until nothing of it is left."""

_log = logging.getLogger(__name__)


class Ongoing:
    """Asked from any thread."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._plans: dict[str, LivePlan] = {}
        self._alternatives: dict[str, LiveAlternatives] = {}
        self._busy: dict[str, Future[None]] = {}
        # Of what is under way in `_busy`; the loop's own.
        self._tasks: dict[str, asyncio.Task[None] | None] = {}
        self._runs: dict[str, LiveRun] = {}
        self._stopped: set[str] = set()
        self._claimed: set[str] = set()
        self._claiming = Lock()

    def live_plan(self, session: str) -> LivePlan | None:
        """The planning under way, None when there is none."""
        live = self._plans.get(session)
        return None if live is None or live.done.is_set() else live

    def live_alternatives(self, session: str) -> LiveAlternatives | None:
        """The plans that are asked for at once, None while there are none under way."""
        return self._alternatives.get(session) if self.busy(session) else None

    def busy(self, session: str) -> bool:
        """Whether this process plans or runs here, or will do so next."""
        going = self._busy.get(session)
        return going is not None and not going.done()

    def trouble(self, session: str) -> str | None:
        """Why what last went on here broke off, such as a full store; None where it came to an end."""
        going = self._busy.get(session)
        error = going.exception() if going is not None and going.done() and not going.cancelled() else None
        if error is None or isinstance(error, ConductorError):
            return None if error is None else str(error)
        return "The program broke while it planned or ran; its log says how. What was finished is kept."

    def wait(self, session: str) -> None:
        """Wait until nothing goes on any more. Raises what broke, should something have."""
        going = self._busy.get(session)
        if going is not None:
            going.result()

    def going(self, session: str) -> Future[None] | None:
        """What goes on here, or went on last: done once nothing more follows. None where none is known."""
        return self._busy.get(session)

    def forget(self, session: str) -> None:
        """Let go of what was here, where it is over; `trouble` tells nothing of it then."""
        if not self.busy(session):
            self._busy.pop(session, None)

    def stop(self, session: str) -> None:
        """Stop what goes on here, if anything does, and return at once; what is done is kept."""
        self._background.spawn(self._stop(session))

    async def _stop(self, session: str) -> None:
        # In the loop, where what goes on does not go on to something else meanwhile.
        task, live = self._tasks.get(session), self._runs.get(session)
        if task is None:
            return
        if self.live_plan(session) is not None or self.live_alternatives(session) is not None:
            task.cancel()
        elif live is not None:
            live.cancel()
        else:
            # A run is about to begin.
            self._stopped.add(session)

    async def _follow(self, session: str, live: LiveRun) -> None:
        self._runs[session] = live
        if session in self._stopped:
            live.cancel()
        try:
            await self._background.follow(live)
        finally:
            del self._runs[session]

    @contextmanager
    def _claim(self, session: str) -> Iterator[None]:
        """Begin something in the block. Raises `WorkflowError` where something goes on already."""
        with self._claiming:
            if session in self._claimed:
                raise WorkflowError(
                    "Something begins in this session already; wait for it, or stop it first."
                )
            self._claimed.add(session)
        try:
            self._check_idle(session)
            yield
        finally:
            self._claimed.discard(session)

    def _check_idle(self, session: str) -> None:
        if self.live_plan(session) is not None:
            raise WorkflowError("The Conductor is planning in this session; wait for it, or stop it first.")
        going = self._busy.get(session)
        # What has just told its end may still be putting its things away.
        if going is not None and not futures.wait([going], timeout=ENDING_SECONDS).done:
            raise WorkflowError("This session is running already; stop that run first.")

    def _go_on(self, session: str, work: Coroutine[Any, Any, None]) -> None:
        self._busy[session] = self._background.spawn(self._carried_out(session, work))

    async def _carried_out(self, session: str, work: Coroutine[Any, Any, None]) -> None:
        """A fault of this program is told in its log; what a user can mend is told by `trouble`."""
        self._tasks[session] = asyncio.current_task()
        try:
            await work
        except ConductorError:
            raise
        except Exception:
            _log.exception("what went on in a session broke")
            raise
        finally:
            # Only how it broke off is known from here on.
            for kept in (self._tasks, self._plans, self._alternatives):
                kept.pop(session, None)
            self._stopped.discard(session)
