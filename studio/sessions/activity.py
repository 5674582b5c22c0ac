"""The activity of each session in this process: planning, running or nothing, one at a time.

Knows whether a session is active, how to stop it and why it failed; the runner does the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from conductor.errors import ConductorError, WorkflowError
from conductor.planner.planner import PlanningEnd
from conductor.runs.events import Event, PlanningFailed, PlanRejected
from conductor.runs.state import RunState
from conductor.waiting import result_of
from studio.sessions.background_runs import Background, LiveRun, LiveState

FEWEST, MOST = 2, 5
"""How many plans may be requested at once."""

ENDING_SECONDS = 0.5
"""How long work may take to end after its run has."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LiveAlternatives:
    """Plans that are requested at once, to choose from: as they are written, read from any thread.

    `batch` is what the plans will have in common in the store; `is_change`: it is one, of a workflow that is
    changed in words.
    """

    batch: str
    plans: tuple[LiveState, ...]
    is_change: bool = False

    @property
    def ended(self) -> int:
        return sum(plan.done.is_set() for plan in self.plans)

    @property
    def done(self) -> bool:
        return self.ended == len(self.plans)

    @property
    def states(self) -> tuple[RunState, ...]:
        return tuple(plan.state for plan in self.plans)


@dataclass(slots=True)
class Activity:
    """The activity of one session: changed in the background loop, read from any thread.

    Other threads follow `plan`, `alternatives` and `run`; they are None once all work has ended. `stopped`:
    it was asked to stop while it went on, which any thread sets; no planning and no run begins after that.
    `planning_outage` is the outage that left it without a plan, None if none did.
    """

    plan: LiveState | None = None
    alternatives: LiveAlternatives | None = None
    run: LiveRun | None = None
    stopped: bool = False
    planning_outage: str | None = None
    work: Future[None] | None = None
    _task: asyncio.Task[None] | None = None

    @property
    def planning(self) -> LiveState | None:
        return None if self.plan is None or self.plan.done.is_set() else self.plan

    @property
    def busy(self) -> bool:
        return self.work is not None and not self.work.done()

    def begin_planning(self) -> None:
        """A round's first attempt begins; nothing changes at a further one, or for alternatives. A stop that
        came before it breaks it off.
        """
        if self.planning is None and self.alternatives is None:
            self.plan = LiveState()
        if self.stopped:
            self._break_off()

    def begin_running(self, run: LiveRun) -> None:
        """A run begins, which a stop that came before it ends at once."""
        self.run = run
        if self.stopped:
            run.cancel()

    def show(self, event: Event) -> None:
        """Add an event of planning. Events of a run are added where they are written."""
        if isinstance(event, PlanningFailed):
            self.planning_outage = event.outage
        if self.planning is not None:
            self.planning.add(event)
            # An invalid plan may be requested again.
            if isinstance(event, PlanningEnd) and not isinstance(event, PlanRejected):
                self.planning.done.set()

    def end(self) -> None:
        if self.plan is not None:
            self.plan.done.set()

    def stop(self) -> None:
        """Stop the current work, which was `stopped`; finished results are kept. What is only about to begin
        stops when it does.
        """
        if self.planning is not None or self.alternatives is not None:
            self._break_off()
        elif self.run is not None:
            self.run.cancel()

    def _break_off(self) -> None:
        # Once: a second cancellation would break off what the first one has it write.
        if self._task is not None and not self._task.cancelling():
            self._task.cancel()

    async def carry_out(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work to its end. A fault of this program is written to its log."""
        self._task = asyncio.current_task()
        try:
            await work
        except ConductorError:
            raise
        except Exception:
            _log.exception("what went on in a session broke")
            raise
        finally:
            self.end()
            # From here on only its error is known.
            self.plan = self.alternatives = self.run = self._task = None


class Activities:
    """The activities of all sessions. May be called from any thread."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._latest: dict[str, Activity] = {}
        self._claimed: set[str] = set()
        self._claiming = Lock()

    def live_plan(self, session: str) -> LiveState | None:
        """The planning under way, None when there is none."""
        latest = self._latest.get(session)
        return None if latest is None else latest.planning

    def live_alternatives(self, session: str) -> LiveAlternatives | None:
        """The plans that are requested at once, None while there are none under way."""
        latest = self._latest.get(session)
        return latest.alternatives if latest is not None and latest.busy else None

    def busy(self, session: str) -> bool:
        latest = self._latest.get(session)
        return latest is not None and latest.busy

    def failure(self, session: str) -> str | None:
        """The error that ended the last activity, such as a full store, or None."""
        return failure_of(self.going(session), "planned or ran")

    def wait(self, session: str) -> None:
        """Wait until the session is idle. Raises the error that ended the activity, if any."""
        work = self.going(session)
        if work is not None:
            result_of(work)

    def going(self, session: str) -> Future[None] | None:
        """The current activity, or the last one: done once it has ended; or None."""
        latest = self._latest.get(session)
        return None if latest is None else latest.work

    def forget(self, session: str) -> None:
        """Drop the last activity, and its error, where it has ended."""
        if not self.busy(session):
            self._latest.pop(session, None)

    def stop(self, session: str) -> None:
        """Stop the session's activity, if any, and return at once; finished results are kept."""
        latest = self._latest.get(session)
        if latest is not None and latest.busy:
            # First of all: whatever ends it from here on, it was stopped before.
            latest.stopped = True
            self._background.spawn(_stop(latest))

    def activity(self, session: str) -> Activity | None:
        """The current activity, or the last one, or None."""
        return self._latest.get(session)

    @contextmanager
    def claim(self, session: str) -> Iterator[None]:
        """Call `begin` in the block. Raises `WorkflowError` where the session is active already."""
        with self._claiming:
            if session in self._claimed:
                raise WorkflowError(
                    "Something is starting in this session already. Wait for it, or stop it first."
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
        going = self.going(session)
        # A run whose end is shown may take a moment to end its work.
        if going is not None and not futures.wait([going], timeout=ENDING_SECONDS).done:
            raise WorkflowError("This session is running already; stop that run first.")

    def begin(self, session: str, activity: Activity, work: Coroutine[Any, Any, None]) -> None:
        """Begin work in a session that is claimed; returns at once."""
        activity.work = self._background.spawn(activity.carry_out(work))
        self._latest[session] = activity


async def _stop(activity: Activity) -> None:
    # In the loop, where the activity cannot change meanwhile.
    activity.stop()


def failure_of(work: Future[None] | None, did: str) -> str | None:
    """The error that ended this work, of a program that `did` so, or None."""
    error = work.exception() if work is not None and work.done() and not work.cancelled() else None
    if error is None or isinstance(error, ConductorError):
        return None if error is None else str(error)
    return f"The program failed while it {did}; its log has the error. What was finished is kept."
