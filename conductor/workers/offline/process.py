"""The child process that computes, as seen from the program: one, for all threads and event loops.

Knows pipes, turns and ends; nothing of mathematics. Calls wait for one another. A call that is cancelled ends
the child, and one that takes too long makes the child end itself; the next call starts another.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import sys
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Lock
from time import monotonic

from conductor.errors import WorkerError
from conductor.workers.offline.task import Refusal, Task

TIME_LIMIT = 10.0
"""Seconds one computation may take."""

PASSED = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE LANG LC_ALL LC_CTYPE SYSTEMROOT "
    "APPDATA TEMP TMP"
).split()
"""The environment variables that the child gets in addition to `PYTHONPATH`: what Python needs to start and
to find its packages. No key and no setting of this program is among them."""

_ROOT = Path(__file__).resolve().parents[3]


@dataclass(eq=False)
class _Call:
    """What the child is sent, and who waits in which loop for the lines; None is the last one."""

    sent: str
    seconds: float
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    lines: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    cancelled: bool = False

    def deliver(self, line: str | None) -> None:
        with suppress(RuntimeError):  # The loop was closed meanwhile, and the caller with it.
            self.loop.call_soon_threadsafe(self.lines.put_nowait, line)


class Calculator:
    """The child, and a thread that writes one call after the other to it and reads the answers."""

    def __init__(self) -> None:
        self.child: Popen[str] | None = None
        self._turns = ThreadPoolExecutor(1, thread_name_prefix="calculator")
        self._answering: _Call | None = None
        self._choosing = Lock()
        atexit.register(self._end)

    def start(self) -> None:
        """Start the child unless there is one; returns at once, the child is ready half a second later."""
        self._turns.submit(self._started)

    async def lines(
        self, expert: str, task: Task, *, seconds: float = TIME_LIMIT
    ) -> AsyncGenerator[str, None]:
        """The answer's lines as they are computed.

        Raises `WorkerError` when that takes more than `seconds`, or the child ends unexpectedly.
        """
        call = _Call(json.dumps({"expert": expert, "task": asdict(task), "seconds": seconds}), seconds)
        turn = self._turns.submit(self._answer, call)
        turn.add_done_callback(lambda _: call.deliver(None))
        try:
            while (line := await call.lines.get()) is not None:
                yield line
            turn.result()
        finally:
            with self._choosing:
                call.cancelled = True
                if self._answering is call and self.child is not None:
                    self.child.kill()

    # -- in the thread -----------------------------------------------------------------------------

    def _answer(self, call: _Call) -> None:
        child = self._started()
        assert child.stdin is not None
        with self._choosing:
            if call.cancelled:
                return
            self._answering = call
        begun = monotonic()
        try:
            with suppress(OSError):  # `_received` notices a child that died, with its exit code.
                child.stdin.write(f"{call.sent}\n")
                child.stdin.flush()
            while (line := _received(child)) is not None:
                call.deliver(line)
        except EOFError:
            self._end()
            raise WorkerError(
                f"The computation took more than {call.seconds:g} s and was stopped. Make the numbers or the "
                "formula smaller, or split the question."
                if monotonic() - begun > call.seconds
                else f"The computing process ended unexpectedly (exit code {child.returncode}). Try again."
            ) from None
        finally:
            with self._choosing:
                self._answering = None

    def _started(self) -> Popen[str]:
        if self.child is None or self.child.poll() is not None:
            self._end()
            # In a session of its own, it is not interrupted by Ctrl-C beside the program, which ends it.
            self.child = Popen(
                (sys.executable, "-m", "conductor.workers.offline.child"),
                stdin=PIPE,
                stdout=PIPE,
                encoding="utf-8",
                cwd=_ROOT,
                env=_environment(),
                start_new_session=True,
            )
        return self.child

    def _end(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.communicate()


def _environment() -> dict[str, str]:
    paths = (str(_ROOT), os.environ.get("PYTHONPATH"))
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return {**passed, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _received(child: Popen[str]) -> str | None:
    """The next line of the answer, None at its end. Raises `EOFError` if the child died, `WorkerError` if
    the computation needed too much memory.
    """
    assert child.stdout is not None
    raw = child.stdout.readline()
    if not raw.endswith("\n"):
        raise EOFError
    message = json.loads(raw)
    if "error" in message:
        raise WorkerError(f"The computation {message['error']} and was stopped. Make the question smaller.")
    line: str | None = message.get("line")
    return Refusal(line) if line is not None and message["refused"] else line


CALCULATOR = Calculator()
