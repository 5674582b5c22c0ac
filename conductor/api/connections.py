"""Many connections at once: how many a process may hold, and how long a request's headers may take.

Knows sockets and uvicorn, nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0
"""How long a connection may take to send a request's headers, its first bytes included."""


def allow_many_connections() -> None:
    """Let this process hold as many as its system allows it; shells often start one with 1,024 or less."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Unlimited is more than some systems take in earnest.
    wanted = 65_536 if most == resource.RLIM_INFINITY else most
    if least != resource.RLIM_INFINITY and least < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class PunctualConnection(H11Protocol):
    """uvicorn's own, which closes a connection whose next request does not come within `HEADER_SECONDS`.

    uvicorn closes one that is silent after an answer, but waits for ever for headers that were begun.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self._forget()

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._late)

    def _late(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
