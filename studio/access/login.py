"""Who may use the app: those who gave its password; without one, browsers and programs on this machine.

Stands before the app's pages, its websocket and its files, behind the policy of names and origins. The API
under /v1 has its own authentication. Knows the password and addresses; knows no Streamlit.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection
from ipaddress import IPv6Address, ip_network
from pathlib import Path
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette._utils import get_route_path  # the path that Starlette's own routes match
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.access.errors import ApiError
from studio.access.exposure import HEALTH, PATH
from studio.access.origin_check import address_in, host_in, is_loopback, refuse
from studio.access.password import SESSION_SECONDS, SETTING, Password
from studio.access.rate_limits import RateLimits

LOGOUT = "/logout"

ATTEMPTS = 10
"""How often a minute an address may try a password."""

ALL_ATTEMPTS = 60
"""How often a minute all addresses together may."""

_MAX_BODY = 10_000
_BODY_SECONDS = 10.0
_FORM = "application/x-www-form-urlencoded"
_PAGE = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
).get_template("login.html")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}


class Login:
    """Middleware of the app. `hosts` are the server's names beside localhost and addresses; `below` is the
    path that the app is below, "" where it is below none.
    """

    def __init__(
        self, app: ASGIApp, *, password: Password | None, hosts: Collection[str] = (), below: str = ""
    ) -> None:
        base = f"/{below.strip('/')}" if below.strip("/") else ""
        self._app = app
        self._password = password
        self._hosts = hosts
        self._health = f"{base}{HEALTH}"
        self._logout = f"{base}{LOGOUT}"
        self._attempts = RateLimits(time.monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_for_everybody(get_route_path(scope)):
            await self._app(scope, receive, send)
        elif self._password is not None:
            await self._with(self._password, scope, receive, send)
        elif self._is_here(scope):
            await self._app(scope, receive, send)
        else:
            await refuse(_only_here(), scope, receive, send)

    def _is_for_everybody(self, path: str) -> bool:
        return path in (PATH, self._health) or path.startswith(f"{PATH}/")

    def _is_here(self, scope: Scope) -> bool:
        """Whether both ends of the connection are on this machine, and the request names one of its hosts."""
        name = host_in(HTTPConnection(scope).headers.get("host", "")) or ""
        ends = [(scope.get(end) or ("",))[0] for end in ("client", "server")]
        return all(map(is_loopback, ends)) and (
            name == "localhost" or name in self._hosts or is_loopback(name)
        )

    # -- with a password -----------------------------------------------------------------------------

    async def _with(self, password: Password, scope: Scope, receive: Receive, send: Send) -> None:
        asked = HTTPConnection(scope)
        session = asked.cookies.get(_cookie(asked), "")
        admitted = password.admits(session)
        if scope["type"] == "websocket" and admitted:
            await self._app(scope, *_while_admitted(password, session, receive, send))
        elif scope["type"] == "http" and get_route_path(scope) == self._logout:
            await self._logged_out(password, session if admitted else None, asked)(scope, receive, send)
        elif scope["type"] == "http" and _is_form(scope, asked):
            answer = await self._attempted(password, Request(scope, receive))
            await answer(scope, receive, send)
        elif admitted:
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and "text/html" in asked.headers.get("accept", ""):
            await _page(asked)(scope, receive, send)
        else:
            await refuse(_no_session(), scope, receive, send)

    async def _attempted(self, password: Password, request: Request) -> Response:
        wait = self._wait(request)
        if wait:
            return _page(request, wrong=f"Too many attempts. Try again in {wait} s.", status=429, wait=wait)
        if not password.is_right(await _given(request)):
            return _page(request, wrong="This is not the password.")
        answer = Response(status_code=303, headers={"Location": _here(request), "Cache-Control": "no-store"})
        answer.set_cookie(
            _cookie(request),
            password.open_session(),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=_is_encrypted(request),
        )
        return answer

    def _wait(self, request: Request) -> int:
        """Seconds until this address may try again; 0: now."""
        address = "-" if request.client is None else _network(request.client.host)
        limits = ((address, ATTEMPTS), ("all", ALL_ATTEMPTS))
        waits = (self._attempts.admit(client, requests=limit, tokens=None).wait for client, limit in limits)
        return next((math.ceil(wait) for wait in waits if wait), 0)

    @staticmethod
    def _logged_out(password: Password, session: str | None, asked: HTTPConnection) -> Response:
        answer = Response(status_code=303, headers={"Location": "./", "Cache-Control": "no-store"})
        if session is not None:
            password.close_session(session)
            answer.delete_cookie(_cookie(asked), httponly=True, samesite="strict")
        return answer


def _while_admitted(password: Password, session: str, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Both ways of a websocket as long as its session lasts; the first message after that closes it."""
    closed = False

    async def received() -> Message:
        nonlocal closed
        message = await receive()
        if message["type"] == "websocket.receive" and not password.admits(session):
            closed = True
            await send({"type": "websocket.close", "code": 1008})
            return {"type": "websocket.disconnect", "code": 1008}
        return message

    async def sent(message: Message) -> None:
        if not closed:
            await send(message)

    return received, sent


async def _given(request: Request) -> str:
    """The password in a form; "" where there is none, or the form is too long or too slow."""
    body = b""
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > _MAX_BODY:
                    return ""
    except (TimeoutError, ClientDisconnect):
        return ""
    return parse_qs(body.decode(errors="replace")).get("password", [""])[0].strip()


def _page(asked: HTTPConnection, *, wrong: str = "", status: int = 401, wait: int = 0) -> Response:
    # The browser sends no strict cookie where a link of another site leads here.
    linked = asked.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    text = _PAGE.render(wrong=wrong, again=_here(asked) if linked else "")
    return HTMLResponse(text, status, headers=_HEADERS | ({"Retry-After": str(wait)} if wait else {}))


def _here(asked: HTTPConnection) -> str:
    """The requested address, relative to there; it leads to no other server whatever the path is."""
    query = asked.scope["query_string"].decode("latin-1")
    return f"./{quote(asked.scope['path'].rpartition('/')[2])}{f'?{query}' if query else ''}"


def _is_form(scope: Scope, asked: HTTPConnection) -> bool:
    return scope["method"] == "POST" and asked.headers.get("content-type", "").startswith(_FORM)


def _cookie(asked: HTTPConnection) -> str:
    """The cookie's name; servers on other ports of a machine are sent its cookies, too."""
    port = asked.headers.get("host", "").rpartition(":")[2]
    return f"conductor-session-{port}" if port.isdecimal() else "conductor-session"


def _is_encrypted(asked: HTTPConnection) -> bool:
    """Whether the browser uses https; a proxy may have ended that."""
    return asked.url.scheme == "https" or asked.headers.get("origin", "").startswith("https://")


def _network(client: str) -> str:
    """What one person has of an address: an IPv4 address, or the half of an IPv6 one."""
    address = address_in(client)
    return str(ip_network((address, 64), strict=False)) if isinstance(address, IPv6Address) else client


def _only_here() -> ApiError:
    return ApiError(
        f"This server has no password and answers its own machine only. To use it from here, have its owner "
        f"set {SETTING} and start it again.",
        status=403,
        code="loopback_only",
    )


def _no_session() -> ApiError:
    return ApiError(
        "This page is there after a login only; open the app in a browser and log in.",
        status=401,
        code="login_required",
    )
