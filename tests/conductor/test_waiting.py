"""An interrupt is heeded while the main thread waits for another one, whenever it comes."""

from __future__ import annotations

import _thread
import signal
from concurrent.futures import CancelledError, Future
from threading import Timer

import pytest

from conductor.waiting import result_of


@pytest.mark.slow
def test_a_signal_that_does_not_wake_the_thread_is_handled_while_it_waits() -> None:
    future: Future[str] = Future()
    before = signal.signal(signal.SIGINT, lambda *_: future.set_result("stopped"))
    # As a signal that came just before the wait: its handler is due, and nothing wakes the thread.
    timers = [
        Timer(0.1, _thread.interrupt_main),
        Timer(5, lambda: future.done() or future.set_result("too late")),
    ]
    for timer in timers:
        timer.start()
    try:
        assert result_of(future) == "stopped"
    finally:
        signal.signal(signal.SIGINT, before)
        for timer in timers:
            timer.cancel()


def test_a_result_an_error_and_a_cancellation_are_passed_on() -> None:
    future: Future[int] = Future()
    future.set_result(3)
    assert result_of(future) == 3
    failed: Future[int] = Future()
    failed.set_exception(TimeoutError("late"))
    with pytest.raises(TimeoutError, match="late"):
        result_of(failed)
    cancelled: Future[int] = Future()
    cancelled.cancel()
    with pytest.raises(CancelledError):
        result_of(cancelled)
