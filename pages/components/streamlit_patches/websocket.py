"""The websocket of Streamlit's server: which hosts it accepts, and browsers that disconnect during a message.

`st.set_option` refuses options of the server, which Streamlit reads from its configuration only; which hosts
are allowed depends on the app's own settings. And where a browser disconnects during a message, Starlette
counts the connection as closed by the server; Streamlit, which waits for the browser's next message, raises
an error: each tab closed at such a moment leaves a traceback in the log. Knows ASGI.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config


def allow_hosts(hosts: Iterable[str]) -> None:
    """Accept websockets at this machine's own names and at `hosts`. Streamlit has no pattern for any host."""
    config.set_option("server.allowedHosts", ["localhost", "127.0.0.1", "::1", *sorted(hosts)])


class DisconnectGuard:
    """Middleware of websockets: drops what cannot be sent, so that `receive` reports the disconnect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            with suppress(OSError):
                await send(message)

        await self._app(scope, receive, sent if scope["type"] == "websocket" else send)
