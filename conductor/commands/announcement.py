"""Telling programs of a server once it answers, though it has taken this process's place by then.

Knows processes and HTTP; nothing of what is served.
"""

from __future__ import annotations

import http.client
import os
import select
import sys
import threading
import time
from collections.abc import Callable

_PAUSE_SECONDS = 0.1
_ANSWER_SECONDS = 5.0


def announce_when_up(line: str, *, host: str, port: int, path: str) -> None:
    """Return at once; print `line` on stdout when `path` at that address answers, never if it does not.

    For a server that is about to take this process's place; nothing is waited for once it has ended.
    """
    if not hasattr(os, "fork"):
        # Such a server runs beside this process, which outlives it.
        waiting = threading.Thread(
            target=_announce, args=(line, host, port, path, _never), name="announcement", daemon=True
        )
        waiting.start()
        return
    # The server keeps its end open as long as it lives.
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.close(reading)
        os.waitpid(child, 0)
        return
    try:
        # Not the server's child, which would not ask how it ended.
        if os.fork() == 0:
            os.close(writing)
            _announce(line, host, port, path, lambda: _closed(reading))
    finally:
        os._exit(0)


def _announce(line: str, host: str, port: int, path: str, ended: Callable[[], bool]) -> None:
    while not _answers(host, port, path):
        if ended():
            return
    print(line, flush=True)


def _answers(host: str, port: int, path: str) -> bool:
    asking = http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
    try:
        asking.request("GET", path)
        return asking.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


def _closed(reading: int) -> bool:
    """Whether nobody has the other end any more, after a pause where somebody has."""
    return bool(select.select([reading], [], [], _PAUSE_SECONDS)[0])


def _never() -> bool:
    time.sleep(_PAUSE_SECONDS)
    return False
