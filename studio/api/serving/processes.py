"""Several processes that serve: a parent starts, replaces and ends them.

They share nothing but the store, and those of the API their address. Knows processes and signals; knows
nothing of requests and of the store. uvicorn has a supervisor, too: it waits without end for a process that
does not end, starts one that fails at its start twice a second, and leaves all others behind where it is
killed.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

from studio.api.serving.stop_signals import ignore_stop_signals, until_stop_signal

ENDING_SECONDS = 20.0
"""How long a process may take to end its answers and close its store; after that it is killed."""

_SOON = 20.0
"""A process that lived for fewer seconds failed at its start: the next one is started after a pause."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0

_log = logging.getLogger(__name__)

Serve = Callable[[], None]
"""Serves until SIGTERM comes; a module's function, or a `partial` of one, so that a new process finds it."""


@dataclass
class _Place:
    """One of the processes and those that take its place. `due` is when the next one is started."""

    name: str
    serve: Serve
    process: SpawnProcess | None = None
    started: float = 0.0
    due: float = 0.0
    failures: int = 0


class Processes:
    """A process for each of `serves`, which have the names that the log has. `run` blocks until SIGTERM or
    SIGINT.

    What comes to a socket of this process while the process that serves there is replaced waits there.
    """

    def __init__(self, serves: Sequence[tuple[str, Serve]]) -> None:
        self._places = [_Place(name, serve) for name, serve in serves]
        # Not forked: threads and connections of this process would be half there in the new one.
        self._context = multiprocessing.get_context("spawn")

    def run(self) -> None:
        """Start the processes, replace those that die, and end all of them in order at a signal."""
        try:
            with until_stop_signal():
                while True:
                    self._start_missing()
                    self._wait()
        finally:
            ignore_stop_signals()
            self._end()

    def _start_missing(self) -> None:
        now = time.monotonic()
        for place in self._places:
            if place.process is None and place.due <= now:
                process = self._context.Process(target=_run, args=(place.serve,))
                process.start()
                place.process, place.started = process, now

    def _wait(self) -> None:
        """Wait until a process dies or the next one is due."""
        alive = {place.process.sentinel: place for place in self._places if place.process is not None}
        due = [place.due for place in self._places if place.process is None]
        pause = max(0.0, min(due) - time.monotonic()) if due else None
        if not alive:
            time.sleep(pause or 0.0)
        for sentinel in wait(list(alive), timeout=pause) if alive else ():
            self._ended(alive[sentinel])  # type: ignore[index]

    def _ended(self, place: _Place) -> None:
        process, now = place.process, time.monotonic()
        assert process is not None
        process.join()
        place.failures = place.failures + 1 if now - place.started < _SOON else 0
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (place.failures - 1)) if place.failures else 0.0
        place.process, place.due = None, now + pause
        when = f"in {pause:g} s" if pause else "now"
        _log.warning(
            "process %s of %s ended (%s); another one starts %s",
            process.pid,
            place.name,
            _how(process),
            when,
        )

    def _end(self) -> None:
        processes = {place.process: place.name for place in self._places if place.process is not None}
        for process in processes:
            process.terminate()
        until = time.monotonic() + ENDING_SECONDS
        for process, name in processes.items():
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                _log.warning("process %s of %s did not end and is killed", process.pid, name)
                process.kill()
                process.join()


def _how(process: SpawnProcess) -> str:
    code = process.exitcode or 0
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


# -- in a process ----------------------------------------------------------------------------------


def _run(serve: Serve) -> None:
    """What a process does: it also ends in order, as at SIGTERM, where its parent dies."""
    # Ctrl+C reaches the parent alone, which sends SIGTERM: of two signals at once Python prints a trace.
    os.setpgid(0, 0)
    threading.Thread(target=_watch_parent, name="parent-watch", daemon=True).start()
    serve()


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
