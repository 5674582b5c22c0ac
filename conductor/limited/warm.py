"""Limited processes that answer one line after another: what they import is imported once. POSIX only.

Knows how a line is sent, waited for and read; nothing of what is asked. One that takes too long is ended with
all below it, and the next line gets a new one, as it does after `LIFETIME`.
"""

from __future__ import annotations

import asyncio
import atexit
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from signal import SIGKILL
from threading import Lock, Timer

from conductor.errors import LimitedProcessError
from conductor.limited.command import (
    end_of,
    own_failures,
    own_folder,
    supervised_command,
)
from conductor.limited.supervisor import Limits

LIFETIME = 180.0
"""Seconds after which a process ends, used or not: none is left behind by an evaluation that is over."""

_MOST_IDLE = 4

_BUSY = 0.1
"""The share of a line's seconds after which a process that was so busy answers no other."""


class WarmProcesses:
    """Processes of one command (see `python`) that writes a line for each line it reads, one at a time.

    `limits.seconds` holds for a line, without the start of its process; the other limits hold for a process.
    Any thread, any event loop.
    """

    def __init__(self, command: tuple[str, ...], *, limits: Limits) -> None:
        self._command, self._limits = command, limits
        self._idle: list[_Process] = []
        self._lock = Lock()
        atexit.register(self.close)

    async def ask(self, line: str) -> str:
        """What a process answers to one line; "" where the line ends it instead.

        Raises `LimitedProcessError` where the time was up, which a busy machine brings about, too, and where
        the process did not start or was lost; `WorkerError` where the system has no limited processes.
        """
        with own_failures():
            process, was_idle = await asyncio.to_thread(self._take)
            try:
                answer = await self._answer(process, line)
            except LimitedProcessError:
                if not was_idle:
                    raise
                answer = ""
            if answer == "" and was_idle:
                # It may have ended by itself while it waited.
                answer = await self._answer(await asyncio.to_thread(self._new), line)
        if answer is None:
            raise LimitedProcessError(f"Not compared within {self._limits.seconds:g} s; try it again.")
        return answer

    def close(self) -> None:
        """End what is idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    async def _answer(self, process: _Process, line: str) -> str | None:
        try:
            answer, took = await asyncio.to_thread(process.ask, line, self._limits.seconds)
        except BaseException:
            process.end()
            raise
        if answer and took < self._limits.seconds * _BUSY:
            self._keep(process)
        else:
            await asyncio.to_thread(process.end)
        return answer

    def _new(self) -> _Process:
        return _Process(self._command, replace(self._limits, seconds=LIFETIME))

    def _take(self) -> tuple[_Process, bool]:
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._new(), False
            if process.seconds_left > self._limits.seconds:
                return process, True
            process.end()

    def _keep(self, process: _Process) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(process)
                return
        process.end()


class _Process:
    def __init__(self, command: tuple[str, ...], limits: Limits) -> None:
        self._limits, self._ends_at = limits, 0.0
        with ExitStack() as opened:
            folder = opened.enter_context(own_folder())
            supervised, environment = supervised_command(command, folder, limits)
            self._child = subprocess.Popen(  # noqa: S603 - the scorer's own command
                supervised,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
            self._opened = opened.pop_all()

    @property
    def seconds_left(self) -> float:
        return self._ends_at - time.monotonic() if self._child.poll() is None else 0.0

    def ask(self, line: str, seconds: float) -> tuple[str | None, float]:
        """One line for another, and the seconds it took; "" if the process ends by it, None if the time
        is up. Raises `LimitedProcessError` where it did not start or was lost.
        """
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        if not self._ends_at:
            start_line = self._child.stderr.readline()
            if start_line != b"{}\n":
                end_of(start_line + self._child.stderr.read())
            self._ends_at = time.monotonic() + self._limits.seconds
        limit = Timer(seconds, self._child.terminate)
        limit.daemon = True
        limit.start()
        asked_at = time.monotonic()
        try:
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline(self._limits.output)
        except (OSError, ValueError):
            answer = b""  # It ended, or was ended meanwhile.
        finally:
            limit.cancel()
        took = time.monotonic() - asked_at
        if answer.endswith(b"\n"):
            return answer.decode(errors="replace"), took
        if took >= seconds:
            return None, took
        # It does not kill itself: a machine without memory does that.
        if end_of(self._child.stderr.read()).get("code", -SIGKILL) == -SIGKILL:
            raise LimitedProcessError("The limited process was killed.")
        return "", took

    def end(self) -> None:
        """End it and all below it, and remove its folder. May be called twice, and while it is asked."""
        self._child.terminate()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()
        self._opened.close()
