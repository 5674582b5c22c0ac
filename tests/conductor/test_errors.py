"""Which errors show that a server was not reached, whichever part raised them."""

from __future__ import annotations

import errno
from socket import gaierror

import pytest

from conductor.errors import PoolError, WorkerError, outage_of


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def handled(error: Exception, before: Exception, *, hides: bool) -> Exception:
    error.__context__, error.__suppress_context__ = before, hides
    return error


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (WorkerError("Gone.", outage="503"), "503"),
        (WorkerError("It is wrong."), None),
        (caused(WorkerError("It is wrong."), ConnectionResetError()), None),
        (ConnectionRefusedError(), "no connection"),
        (ConnectionResetError(), "no connection"),
        (BrokenPipeError(), "no connection"),
        (gaierror(-2, "Name or service not known"), "no connection"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "no connection"),
        (OSError("All connection attempts failed"), "no connection"),
        (TimeoutError(), "timed out"),
        (caused(RuntimeError("Connection error."), caused(OSError("failed"), ConnectionRefusedError())),
         "no connection"),
        (handled(RuntimeError("Read error."), TimeoutError(), hides=False), "timed out"),
        (handled(RuntimeError("It is wrong."), TimeoutError(), hides=True), None),
        (PoolError("No such worker."), None),
        (FileNotFoundError(errno.ENOENT, "No such file"), None),
        (OSError(errno.ENOSPC, "No space left"), None),
        (KeyError("choices"), None),
    ],
)  # fmt: skip
def test_an_outage_is_known_by_the_systems_error_behind_it(error: Exception, outage: str | None) -> None:
    assert outage_of(error) == outage
