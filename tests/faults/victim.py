"""A process that is killed while it works: how it is started, what it still sends, and its end.

Knows pipes and signals; what is done in the process is the matter of its caller. It is forked from a
server that has imported the program already, so that a kill costs no start of the interpreter.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from select import select
from types import ModuleType
from typing import Any

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["studio.composition", "studio.session_file", "tests.fake_openai", "alembic.command"]
)

_NEVER_BEGAN = 60.0
"""Seconds after which a process that sends nothing at all is an error of the harness."""

Work = Callable[..., None]
"""What a process does: it gets its pipe first, then the arguments it was started with."""


@dataclass(frozen=True)
class Say:
    """Sends the harness a line, at once and unbuffered; what was sent before a kill is received."""

    pipe: Connection

    def __call__(self, **line: Any) -> None:
        """Write one line of JSON. From threads: lines may mix only where they are longer than a page."""
        content = memoryview((json.dumps(line) + "\n").encode())
        while content:
            content = content[os.write(self.pipe.fileno(), content) :]


def killed(work: Work, *arguments: Any, after: float) -> list[dict[str, Any]]:
    """Do `work` in a process of its own, kill it `after` seconds, and return all that it sent.

    The seconds count from its first line, which it sends before it touches a store. A line that the kill tore
    is left out, as no reader could have read it.
    """
    ours, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=_begin, args=(work, theirs, arguments), daemon=True)
    with _no_script():
        process.start()
    theirs.close()
    printed = _heard(ours, until=time.monotonic() + _NEVER_BEGAN, lines=1)
    assert printed, "the process to be killed never began"
    printed += _heard(ours, until=time.monotonic() + after)
    process.kill()
    printed += _heard(ours, until=None)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL, (
        "the process ended before it was killed; its error stands above"
    )
    process.close()
    ours.close()
    lines = printed.split(b"\n")[1:-1]
    return [json.loads(line) for line in lines]


@contextmanager
def _no_script() -> Iterator[None]:
    """A process that starts runs the main script again; after a test of a page that is the page's."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _begin(work: Work, pipe: Connection, arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_the_test, daemon=True).start()
    say = Say(pipe)
    say(ready=True)
    work(say, *arguments)


def _end_with_the_test() -> None:
    """Much of this work never ends by itself, and it may be the process of the test that is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _heard(pipe: Connection, *, until: float | None, lines: int | None = None) -> bytes:
    """What comes until that moment (None: the end) or until so many lines are there."""
    printed = b""
    while lines is None or printed.count(b"\n") < lines:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select([pipe], [], [], left)[0]:
            break
        piece = os.read(pipe.fileno(), 1 << 16)
        if not piece:
            break
        printed += piece
    return printed
