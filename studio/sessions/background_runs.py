"""Runs and plans that outlive their caller: one asyncio loop in one daemon thread a process.

Other threads only read snapshots. Knows the engine and a journal to write events to; knows neither
the store behind the journal nor any page.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeVar

from conductor.engine.run import WorkflowRun
from conductor.errors import NotKeptYet
from conductor.runs.events import Event, PlanningStarted, RunFinished
from conductor.runs.state import RunState, advance

T = TypeVar("T")

_log = logging.getLogger(__name__)

_BROKE = "The program failed while it followed the run; its log has the error."


class Journal(Protocol):
    """Where events are stored."""

    def append(self, event: Event) -> Future[None]:
        """Queue an event and return at once; the future resolves when it is durable.

        Neighbouring events may share one future, which fails when any of them could not be stored. Where it
        fails with `NotKeptYet`, they are retried, and are stored when a later event of the run is.
        """
        ...


class _Snapshots:
    """Events as they come from the loop, folded in the thread that reads."""

    def __init__(self, first: RunState) -> None:
        self._folded = first
        self._fresh: deque[Event] = deque()
        self._folding = threading.Lock()

    def add(self, event: Event) -> None:
        self._fresh.append(event)

    def newest(self) -> RunState:
        """Folded on the reader's time, so that the loop is free for the run."""
        with self._folding:
            while self._fresh:
                event = self._fresh.popleft()
                # Each attempt at a plan is a separate stream.
                before = RunState() if isinstance(event, PlanningStarted) else self._folded
                self._folded = advance(before, event)
            return self._folded


class LivePlan:
    """Planning under way, read from any thread: the newest attempt. `done` once the last one has ended."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self._snapshots = _Snapshots(RunState())

    @property
    def state(self) -> RunState:
        return self._snapshots.newest()

    def add(self, event: Event) -> None:
        self._snapshots.add(event)


class LiveRun:
    """A run under way, read from any thread.

    `unsaved` is why events could not be stored; the run itself continues and its state stays readable. Where
    they are `kept_later`, a journal that has the run's end has all of them.
    """

    def __init__(self, run: WorkflowRun) -> None:
        self.run = run.run
        self.unsaved: str | None = None
        self.kept_later = False
        self.done = threading.Event()
        self._ended = False
        self._run = run
        self._snapshots = _Snapshots(RunState(run=run.run))

    @property
    def round(self) -> int:
        """Which round the run is, from 1."""
        return self._run.round

    @property
    def state(self) -> RunState:
        return self._snapshots.newest()

    async def events(self, journal: Journal) -> AsyncGenerator[Event, None]:
        """Run; each event is appended to the journal, shown and then yielded. The last one is shown once all
        of them are durable.
        """
        kept: list[Future[None]] = []
        async with aclosing(self._run.events()) as events:
            async for event in events:
                write = journal.append(event)
                if not kept or write is not kept[-1]:
                    kept.append(write)
                if isinstance(event, RunFinished):
                    self._ended = True
                    failures = await _failures(kept)
                    self.unsaved = str(failures[0]) if failures else None
                    self.kept_later = all(isinstance(error, NotKeptYet) for error in failures)
                self._snapshots.add(event)
                yield event

    def cancel(self) -> None:
        """Stop the run; called in the loop's thread."""
        self._run.cancel()

    def interrupt(self, journal: Journal) -> None:
        """End the run as interrupted unless it has ended: its events are no longer read."""
        if self._ended:
            return
        end = RunFinished(
            run=self.run,
            seq=self.state.seq + 1,
            at=time.time(),
            outcome="interrupted",
            answer=None,
            answer_step=None,
        )
        self._snapshots.add(end)
        journal.append(end)


async def _failures(kept: Sequence[Future[None]]) -> list[BaseException]:
    """Wait until every write has ended; returns the errors that later writes did not make good."""
    # A journal keeps the order: once the last write has ended, as a rule nothing is left to wait for.
    for write in reversed(kept):
        if not write.done():
            # Whatever it was is read below.
            with suppress(Exception):
                await asyncio.wrap_future(write)
    failures = [error for write in kept if (error := write.exception()) is not None]
    if kept[-1].exception() is None:
        # Events that were not stored yet by then were stored before the end.
        failures = [error for error in failures if not isinstance(error, NotKeptYet)]
    return failures


class Background:
    """The loop, its thread, and the live runs by id."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._live: dict[str, LiveRun] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conductor-runs", daemon=True)
        self._thread.start()

    def register(self, run: WorkflowRun) -> LiveRun:
        """A run that is about to begin: `events` or `follow` does it."""
        live = self._live[run.run] = LiveRun(run)
        return live

    async def prepared(self, prepare: Callable[[], LiveRun]) -> LiveRun:
        """The registered run that `prepare`, in a separate thread, starts in the journal.

        Where the caller is cancelled meanwhile, the thread continues, and the run ends as interrupted: its
        events would not be read.
        """
        # No task, which would be cancelled together with the caller when the loop winds down.
        preparing = asyncio.get_running_loop().run_in_executor(None, prepare)
        try:
            return await asyncio.shield(preparing)
        except asyncio.CancelledError:
            live = await preparing
            live.interrupt(self._journal)
            self._ended(live)
            raise

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine in the loop; returns at once."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def live(self, run: str) -> LiveRun | None:
        """The run under way of that id, or one whose events could not all be kept; else None."""
        return self._live.get(run)

    def cancel(self, run: str) -> None:
        """Stop a run; returns at once, the run is over within a second. Nothing happens to a finished one."""
        live = self._live.get(run)
        if live is not None:
            self._loop.call_soon_threadsafe(live.cancel)

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.spawn(coroutine).result()

    def close(self) -> None:
        """Stop every run, store its events, and end the thread."""
        for run in list(self._live):
            self.cancel(run)
        for live in list(self._live.values()):
            live.done.wait(timeout=2)
        self.wait(_wind_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)
        self._loop.close()

    async def events(self, live: LiveRun) -> AsyncGenerator[Event, None]:
        """Run a registered run to its end, in the loop; after any error its state is ended."""
        try:
            async with aclosing(live.events(self._journal)) as events:
                async for event in events:
                    yield event
        except asyncio.CancelledError:
            live.interrupt(self._journal)
            raise
        except GeneratorExit:
            # The reader of the events failed; they are no longer read.
            live.unsaved = _BROKE
            live.interrupt(self._journal)
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the run must not read as running for ever
            _log.exception("following run %s broke", live.run)
            live.unsaved = _BROKE
            live.interrupt(self._journal)
        finally:
            self._ended(live)

    async def follow(self, live: LiveRun) -> None:
        """`events`, read to the end."""
        async with aclosing(self.events(live)) as events:
            async for _ in events:
                pass

    def _ended(self, live: LiveRun) -> None:
        if live.unsaved is None:
            # From here on the store has the same state, also for callers that waited for the end.
            del self._live[live.run]
        live.done.set()


async def _wind_down() -> None:
    """End all tasks of the running loop; workers that hold a process release it here."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=2)
    await asyncio.get_running_loop().shutdown_asyncgens()
