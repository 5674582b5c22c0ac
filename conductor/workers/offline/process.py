"""The child process that computes, as seen from the app: one for each event loop, started when first needed,
in about half a second.

Knows pipes, time limits and ends; nothing of mathematics. Calls wait for one another. A call that takes too
long, or is cancelled, ends the child; the next call starts another.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from conductor.errors import WorkerError
from conductor.workers.offline.task import Refusal, Task

TIME_LIMIT = 10.0
"""Seconds one computation may take."""

START_LIMIT = 60.0
"""Seconds the child may take to start, which imports SymPy."""

PASSED = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE LANG LC_ALL LC_CTYPE SYSTEMROOT "
    "APPDATA TEMP TMP"
).split()
"""The environment variables that the child gets in addition to `PYTHONPATH`: what Python needs to start and
to find its packages. No key and no setting of this program is among them."""

_ROOT = Path(__file__).resolve().parents[3]
_MAX_MESSAGE = 16 * 1024**2


class Calculator:
    """One child process and the calls that wait for it, all in one event loop."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._child: AsyncGenerator[Process, None] | None = None
        self._process: Process | None = None

    async def lines(
        self, expert: str, task: Task, *, seconds: float = TIME_LIMIT
    ) -> AsyncGenerator[str, None]:
        """The answer's lines as they are computed.

        Raises `WorkerError` when that takes more than `seconds`, or the child ends unexpectedly.
        """
        async with self._turn:
            finished = False
            try:
                process = await self._started()
                deadline = asyncio.get_running_loop().time() + seconds
                assert process.stdin is not None
                call = {"expert": expert, "task": asdict(task), "seconds": seconds + 1}
                process.stdin.write(json.dumps(call).encode() + b"\n")
                with suppress(ConnectionError):  # `_received` notices a child that died, with its reason.
                    await process.stdin.drain()
                while (line := await _received(process, deadline)) is not None:
                    yield line
                finished = True
            except TimeoutError:
                raise WorkerError(
                    f"The computation took more than {seconds:g} s and was stopped. Make the numbers or the "
                    "formula smaller, or split the question."
                ) from None
            finally:
                if not finished:
                    await self._ended()

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            await self._ended()
            self._child = _child()
            self._process = await anext(self._child)
        return self._process

    async def _ended(self) -> None:
        child, self._child, self._process = self._child, None, None
        if child is not None:
            await child.aclose()


async def _child() -> AsyncGenerator[Process, None]:
    """The child, ready; ended when this generator is closed, by asyncio at the latest, with its loop."""
    command = (sys.executable, "-m", "conductor.workers.offline.child")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, cwd=_ROOT, env=_environment(), limit=_MAX_MESSAGE
    )
    try:
        await _received(process, asyncio.get_running_loop().time() + START_LIMIT)
        yield process
    except TimeoutError:
        raise WorkerError(
            f"The computing process did not start within {START_LIMIT:g} s. Try again."
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def _environment() -> dict[str, str]:
    paths = (str(_ROOT), os.environ.get("PYTHONPATH"))
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return {**passed, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


async def _received(process: Process, deadline: float) -> str | None:
    """The next line of the answer, None at its end.

    Raises `TimeoutError` after `deadline` (loop time), `WorkerError` if the child died.
    """
    assert process.stdout is not None
    async with asyncio.timeout_at(deadline):
        raw = await process.stdout.readline()
        if not raw:
            code = await process.wait()
            raise WorkerError(f"The computing process ended unexpectedly (exit code {code}). Try again.")
    message = json.loads(raw)
    if "error" in message:
        raise WorkerError(f"The computation {message['error']} and was stopped. Make the question smaller.")
    line: str | None = message.get("line")
    return Refusal(line) if line is not None and message["refused"] else line


_CALCULATORS: dict[asyncio.AbstractEventLoop, Calculator] = {}


def calculator() -> Calculator:
    """The calculator of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _CALCULATORS:
        # A copy: other loops, in threads of their own, add theirs meanwhile.
        for closed in [each for each in tuple(_CALCULATORS) if each.is_closed()]:
            _CALCULATORS.pop(closed, None)
        _CALCULATORS[loop] = Calculator()
    return _CALCULATORS[loop]
