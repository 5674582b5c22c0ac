"""Stops a server at SIGINT or SIGTERM: in order, with exit code 0, whatever follows the first signal.

Knows signals; knows no server.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stopped(SystemExit):
    """Raised at the signal; libraries that end a process in order let a `SystemExit` pass."""


@contextmanager
def until_stop_signal() -> Iterator[None]:
    """Leave the block at the first signal. Later ones are ignored until the process ends: its end takes some
    seconds at most, and leaves nothing behind.
    """
    for number in _SIGNALS:
        signal.signal(number, _stop)
    with suppress(_Stopped):
        yield


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    ignore_stop_signals()
    raise _Stopped(0)


def call_at_stop_signal(end: Callable[[], None]) -> None:
    """Call `end` at the first signal; later ones are ignored, as by `until_stop_signal`."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        ignore_stop_signals()
        end()

    for number in _SIGNALS:
        signal.signal(number, handle)


def ignore_stop_signals() -> None:
    """From now on, for good."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def at_stop_signal(stop: Callable[[], Coroutine[Any, Any, None]]) -> Iterator[None]:
    """In the block, start `stop` in the running event loop at the first signal, and call the server's own
    handler as well; a second one would have the server leave out its end.

    uvicorn waits for unfinished answers before it runs an app's shutdown, so `stop` cannot wait for that. No
    effect outside the main thread, which alone gets signals, and where the server has no handler.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    started: set[asyncio.Task[None]] = set()
    handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}

    def start() -> None:
        started.add(loop.create_task(stop()))

    def handle(number: int, frame: FrameType | None) -> None:
        ignore_stop_signals()
        loop.call_soon_threadsafe(start)
        handlers[signal.Signals(number)](number, frame)

    for number in handlers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
