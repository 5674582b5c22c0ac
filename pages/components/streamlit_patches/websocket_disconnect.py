"""Treats a browser that disconnects during a message as any other that disconnects.

Starlette then counts the connection as closed by the server, and Streamlit, which waits for the browser's
next message, raises an error: each tab closed at such a moment leaves a traceback in the log. Knows ASGI.
"""

from __future__ import annotations

from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class DisconnectGuard:
    """Middleware of websockets: drops what cannot be sent, so that `receive` reports the disconnect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection or request."""

        async def sent(message: Message) -> None:
            with suppress(OSError):
                await send(message)

        await self._app(scope, receive, sent if scope["type"] == "websocket" else send)
