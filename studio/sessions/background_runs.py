"""Runs and plans that outlive their caller: one asyncio loop in one daemon thread a process.

Other threads only read snapshots. Knows the engine and the store's runs, to which it appends events; knows no
page.
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
from functools import partial
from typing import Any, Literal, TypeVar

from conductor.engine.run import WorkflowRun
from conductor.errors import NotKeptYet, StorageError, WorkerError
from conductor.runs.events import Event, PlanningStarted, RunFinished, StepFinished, TextPiece
from conductor.runs.state import RunState, advance, joined
from conductor.values.messages import NOTHING_USED
from conductor.waiting import result_of
from storage.store.parts import Runs

T = TypeVar("T")

_log = logging.getLogger(__name__)

_WORTH_PACKING = 50
"""Pieces of texts from which on a run is stored in less room after its end."""

MOST_AT_RISK = 0.025
"""Seconds since a call began after which its output, while it is not durable, holds its run's next call.

A call that took longer holds it at once: of such calls a kill takes along the last of a chain at most.
"""

_BROKE = "The program failed while it followed the run; its log has the error."


class LiveState:
    """Planning or a run under way, read from any thread; of planning, the newest attempt. `done`: it has
    ended.
    """

    def __init__(self, first: RunState | None = None) -> None:
        self.done = threading.Event()
        self._folded = first or RunState()
        self._fresh: deque[Event] = deque()
        self._folding = threading.Lock()

    def add(self, event: Event) -> None:
        """Called in the loop's thread."""
        self._fresh.append(event)

    @property
    def state(self) -> RunState:
        """The newest snapshot, folded on the reader's time, so that the loop is free for the run."""
        with self._folding:
            fresh = [self._fresh.popleft() for _ in range(len(self._fresh))]
            for event in joined(fresh):
                # Each attempt at a plan is a separate stream.
                before = RunState() if isinstance(event, PlanningStarted) else self._folded
                self._folded = advance(before, event)
            return self._folded


class LiveRun(LiveState):
    """A run under way, whose events are stored in `journal`.

    `unsaved` is why events could not be stored; the run itself continues and its state stays readable. Where
    they are `kept_later`, a journal that has the run's end has all of them.

    `start_write` is the write of its beginning until that is durable; if it fails, the run is stopped
    and `unknown`: the store has nothing of it.
    """

    def __init__(
        self,
        run: WorkflowRun,
        journal: Runs,
        *,
        start_write: Future[None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(RunState(run=run.run))
        self.run = run.run
        self.unsaved: str | None = None
        self.kept_later = False
        self.unknown = False
        self._ended = False
        self._pieces = 0
        self._run = run
        self._journal = journal
        self._start_write = start_write
        self._clock = clock
        self._at_risk: list[tuple[float, Future[None]]] = []
        self._newest: Future[None] | None = None

    @property
    def round(self) -> int:
        """Which round the run is, from 1."""
        return self._run.round

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run; each event is appended to the journal, shown and then yielded. The last one is shown once all
        of them are durable.
        """
        writes: list[Future[None]] = []
        # Not held any longer: its callback holds this run, and a cycle is freed much later.
        start_write, self._start_write = self._start_write, None
        if start_write is not None:
            start_write.add_done_callback(partial(self._stop_unless_stored, asyncio.get_running_loop()))
            self._at_risk.append((self._clock(), start_write))
        async with aclosing(self._run.events(gate=self._gate, stored=self._stored)) as events:
            async for event in events:
                write = self._journal.append(event)
                if not writes or write is not writes[-1]:
                    writes.append(write)
                self._newest = write
                if isinstance(event, StepFinished):
                    self._at_risk.append((event.at - event.output.seconds, write))
                self._pieces += isinstance(event, TextPiece)
                if isinstance(event, RunFinished):
                    self._ended = True
                    failures = await _failures(writes)
                    self.unsaved = str(failures[0]) if failures else None
                    self.kept_later = all(isinstance(error, NotKeptYet) for error in failures)
                self.add(event)
                yield event

    async def _gate(self) -> None:
        """Wait while an output is not durable whose call began more than `MOST_AT_RISK` ago.

        An output that the store did not take is no longer waited for: the run continues.
        """
        # The reader appends the event of an output in the loop's next turn.
        await asyncio.sleep(0)
        while late := self._late():
            for write in late:
                with suppress(Exception):
                    await asyncio.wrap_future(write)

    async def _stored(self) -> None:
        """Wait until the run's events so far are durable. Raises `WorkerError` where they are not."""
        assert self._newest is not None, "a run begins with an event"
        try:
            await asyncio.wrap_future(self._newest)
        except StorageError as error:
            raise WorkerError(
                f"No tool was called, because what it is called with could not be stored: {error}",
                used=NOTHING_USED,
            ) from error

    def _late(self) -> list[Future[None]]:
        self._at_risk = [(began, write) for began, write in self._at_risk if not write.done()]
        return [write for began, write in self._at_risk if self._clock() - began > MOST_AT_RISK]

    def _stop_unless_stored(self, loop: asyncio.AbstractEventLoop, start_write: Future[None]) -> None:
        if start_write.exception() is not None:
            self.unknown = True
            loop.call_soon_threadsafe(self._run.cancel)

    def pack(self) -> None:
        """Have the journal store the run, which is over, in less room, where that is worth a write."""
        if self._pieces >= _WORTH_PACKING:
            self._journal.pack(self.run)

    def cancel(self) -> None:
        """Stop the run; called in the loop's thread."""
        self._run.cancel()

    def interrupt(self, outcome: Literal["interrupted", "cancelled"] = "interrupted") -> None:
        """End the run so unless it has ended: its events are no longer read."""
        if self._ended:
            return
        end = RunFinished(
            run=self.run,
            seq=self.state.seq + 1,
            at=time.time(),
            outcome=outcome,
            answer=None,
            answer_step=None,
        )
        self.add(end)
        self._journal.append(end)


async def _failures(writes: Sequence[Future[None]]) -> list[BaseException]:
    """Wait until every write has ended; returns the errors that later writes did not make good."""
    # A journal keeps the order: once the last write has ended, as a rule nothing is left to wait for.
    for write in reversed(writes):
        if not write.done():
            with suppress(Exception):
                await asyncio.wrap_future(write)
    failures = [error for write in writes if (error := write.exception()) is not None]
    if writes[-1].exception() is None:
        # Events that were not stored yet by then were stored before the end.
        failures = [error for error in failures if not isinstance(error, NotKeptYet)]
    return failures


class Background:
    """The loop, its thread, and the live runs by id."""

    def __init__(self, journal: Runs) -> None:
        self._journal = journal
        self._live: dict[str, LiveRun] = {}
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conductor-runs", daemon=True)
        self._thread.start()

    def register(self, run: WorkflowRun, *, start_write: Future[None] | None = None) -> LiveRun:
        """A run that is about to begin: `events` or `follow` does it. See `LiveRun` for `start_write`."""
        live = self._live[run.run] = LiveRun(run, self._journal, start_write=start_write)
        return live

    async def prepared(self, prepare: Callable[[], LiveRun], *, stopped: Callable[[], bool]) -> LiveRun:
        """The registered run that `prepare`, in a separate thread, starts in the journal.

        Where the caller is cancelled meanwhile, the thread continues, and the run ends as interrupted, or as
        cancelled where it was `stopped` before: its events would not be read.
        """
        preparing = asyncio.get_running_loop().run_in_executor(None, prepare)
        try:
            return await to_the_end(preparing)
        except asyncio.CancelledError:
            live = preparing.result()
            live.interrupt("cancelled" if stopped() else "interrupted")
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
        return result_of(self.spawn(coroutine))

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
            async with aclosing(live.events()) as events:
                async for event in events:
                    yield event
        except asyncio.CancelledError:
            live.interrupt()
            raise
        except GeneratorExit:
            # The reader of the events failed; they are no longer read.
            live.unsaved = _BROKE
            live.interrupt()
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the run must not read as running for ever
            _log.exception("following run %s broke", live.run)
            live.unsaved = _BROKE
            live.interrupt()
        finally:
            self._ended(live)

    async def follow(self, live: LiveRun) -> None:
        """`events`, read to the end."""
        async with aclosing(self.events(live)) as events:
            async for _ in events:
                pass

    def _ended(self, live: LiveRun) -> None:
        if live.unsaved is None or live.unknown:
            # From here on the store has the same state, also for callers that waited for the end.
            del self._live[live.run]
            live.pack()
        live.done.set()


async def to_the_end(doing: asyncio.Future[T]) -> T:
    """The result of work in a thread, which cannot be stopped. A caller that is cancelled meanwhile, also
    more than once, waits for its end before it raises `CancelledError`.
    """
    cancelled = False
    while not doing.done():
        try:
            # Neither a task, which would be cancelled as well where the loop winds down, nor the work itself.
            await asyncio.wait({doing})
        except asyncio.CancelledError:
            cancelled = True
    result = doing.result()
    if cancelled:
        raise asyncio.CancelledError
    return result


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where there is one: it needs a sixth less processor time for runs that stream."""
    try:
        import uvloop  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _wind_down() -> None:
    """End all tasks of the running loop; workers that hold a process release it here."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=2)
    await asyncio.get_running_loop().shutdown_asyncgens()
