"""Carries out a script over one connection, and sees it when the other side leaves.

Knows ASGI; of the server it knows only how a connection is broken off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import assert_never

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from conductor.fake_openai.log import Entry, Log
from conductor.fake_openai.script import Body, HangUp, Head, Reset, Script, Wait

BreakOff = Callable[[Scope, bool], None]
"""Ends the connection of a scope at once; True resets it, False closes it in order."""


class Performance(Response):
    """A response that does what its script says, and writes into `entry` what became of it."""

    def __init__(self, script: Script, *, entry: Entry, log: Log, break_off: BreakOff) -> None:
        super().__init__()
        self._script = script
        self._entry = entry
        self._log = log
        self._break_off = break_off
        self._left = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Perform until the script ends or the client leaves, whichever is first."""
        telling = asyncio.create_task(self._tell(scope, send))
        leaving = asyncio.create_task(self._leave(receive))
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (telling, leaving):
                task.cancel()
            await asyncio.wait((telling, leaving))
            if self._entry.outcome is None:
                self._log.ended(self._entry, "disconnected")
        if not telling.cancelled():
            telling.result()

    async def _leave(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left = True

    async def _tell(self, scope: Scope, send: Send) -> None:
        for act in self._script:
            # Who has left is told nothing more; the server itself would take it without a word.
            if self._left:
                return
            match act:
                case Head():
                    await self._begin(act, send)
                case Body():
                    await send({"type": "http.response.body", "body": act.content, "more_body": True})
                    self._entry.pieces += 1
                    # The server takes all pieces without a pause, and nobody could be seen leaving.
                    await asyncio.sleep(0)
                case Wait():
                    self._log.changed()
                    await _wait(act.seconds)
                case Reset() | HangUp():
                    reset = isinstance(act, Reset)
                    self._log.ended(self._entry, "reset" if reset else "hung-up")
                    self._break_off(scope, reset)
                    await _wait(None)
                case _:
                    assert_never(act)
        # All is handed over once this returns; the log says so before the client can know the end.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        if not self._left:
            self._log.ended(self._entry, "answered")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self, head: Head, send: Send) -> None:
        headers = {"content-type": head.content_type, **head.headers}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": head.status, "headers": raw})
        self._entry.status = head.status
        self._log.changed()


async def _wait(seconds: float | None) -> None:
    """None: until cancelled."""
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)
