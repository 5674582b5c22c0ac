"""A browser that leaves while it is being sent something has just left. Knows ASGI, no Streamlit.

Starlette counts the connection as closed by us then, and Streamlit, which waits for the browser's next word,
takes that for a word of the wrong kind: a tab that is closed at such a moment puts a traceback into the log.
"""

from __future__ import annotations

from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Departure:
    """Middleware of websockets: what cannot reach the browser is dropped, and `receive` says it is gone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection or request."""

        async def sent(message: Message) -> None:
            with suppress(OSError):
                await send(message)

        await self._app(scope, receive, sent if scope["type"] == "websocket" else send)
