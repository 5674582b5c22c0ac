"""Logs people in to the app by its password or by a provider; without either, browsers and programs of this
machine use it. People with a view-only link may look at one session.

Stands before the app's pages, its websocket and its files, behind the policy of names and origins. The API
under /v1 has its own authentication. Knows logins and addresses; knows no Streamlit.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from ipaddress import IPv6Address, ip_network
from urllib.parse import parse_qs, quote

from starlette._utils import get_route_path  # the path that Starlette's own routes match
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.access.errors import ApiError
from studio.access.exposure import HEALTH, LIVE, METRICS, PATH, READY
from studio.access.login_page import address_of, is_encrypted, login_page, port_of, session_cookie
from studio.access.openid.logins import People
from studio.access.openid.round_trip import CALLBACK, LOGIN, RoundTrip
from studio.access.origin_check import address_in, host_in, is_loopback, refuse
from studio.access.password import SESSION_SECONDS, SETTING, Password
from studio.access.rate_limits import Attempts
from studio.access.signed_sessions import SignedSessions
from studio.access.view_links import PARAMETER, ViewLinks

LOGOUT = "/logout"

VIEWED = "x-conductor-viewed"
"""The header that shows the app which sessions alone a visitor may look at, separated by commas. It is set
here and nowhere else: what a visitor sends under this name is dropped.
"""

PERSON = "x-conductor-person"
"""The header that shows the app who is logged in, percent-encoded; it is as much the app's own."""

ATTEMPTS = 10
"""How often a minute an address may try a password."""

ALL_ATTEMPTS = 60
"""How often a minute all addresses together may, and how often an address may come back from a provider."""

_NO_LINK = "This view-only link is not valid any more. Ask for another one, or log in."

_MAX_BODY = 10_000
_BODY_SECONDS = 10.0
_FORM = "application/x-www-form-urlencoded"


class Login:
    """Middleware of the app. `logins` admit to all of it, `links` to one session each; `hosts` are the
    server's names beside localhost and addresses; `below` is the path that the app is below, "" where it is
    below none.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        logins: Password | People | None,
        links: ViewLinks | None = None,
        hosts: Collection[str] = (),
        below: str = "",
    ) -> None:
        base = f"/{below.strip('/')}" if below.strip("/") else ""
        self._app = app
        self._logins = logins
        self._links = links
        self._hosts = hosts
        self._health = f"{base}{HEALTH}"
        self._logout = f"{base}{LOGOUT}"
        self._round_trip = RoundTrip(logins, base=base) if isinstance(logins, People) else None
        self._login, self._callback = f"{base}{LOGIN}", f"{base}{CALLBACK}"
        self._attempts = Attempts(time.monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_for_everybody(get_route_path(scope)):
            await self._app(scope, receive, send)
        elif self._logins is not None:
            await self._answer_with_login(self._logins, scope, receive, send)
        elif self._is_local(scope):
            await self._app(_seen_scope(scope), receive, send)
        else:
            await refuse(_only_local(), scope, receive, send)

    def _is_for_everybody(self, path: str) -> bool:
        # The metrics have the API's own authentication.
        return path in (LIVE, READY, METRICS, self._health) or path.startswith(f"{PATH}/")

    def _is_local(self, scope: Scope) -> bool:
        """Whether both ends of the connection are on this machine, and the request names one of its hosts."""
        name = host_in(HTTPConnection(scope).headers.get("host", "")) or ""
        ends = [(scope.get(end) or ("",))[0] for end in ("client", "server")]
        return all(map(is_loopback, ends)) and (
            name == "localhost" or name in self._hosts or is_loopback(name)
        )

    # -- with a login --------------------------------------------------------------------------------

    async def _answer_with_login(
        self, logins: Password | People, scope: Scope, receive: Receive, send: Send
    ) -> None:
        connection = HTTPConnection(scope)
        session = connection.cookies.get(session_cookie(connection), "")
        person = logins.read_session(session)
        if scope["type"] == "websocket" and person is not None:
            own = _while_admitted(partial(_admits_session, logins.admits, session), receive, send)
            await self._app(_seen_scope(scope, person=person), *own)
        elif scope["type"] == "http" and (
            answer := self._login_answer(logins, session, Request(scope, receive))
        ):
            await (await answer)(scope, receive, send)
        elif person is not None:
            await self._app(_seen_scope(scope, person=person), receive, send)
        elif await self._answer_by_link(scope, receive, send):
            pass
        elif scope["type"] == "http" and _is_page(connection):
            await self._page(Request(scope))(scope, receive, send)
        else:
            await refuse(_no_session(), scope, receive, send)

    def _login_answer(
        self, logins: Password | People, session: str, request: Request
    ) -> Awaitable[Response] | None:
        """The answer to a request that logs in or out; None for any other one."""
        path = get_route_path(request.scope)
        if path == self._logout:
            return self._answer_logout(logins, session, request)
        if isinstance(logins, Password):
            return self._answer_attempt(logins, request) if _is_form(request) else None
        if path == self._callback and request.method == "GET":
            return self._answer_return(request)
        if path == self._login and request.method == "GET" and self._round_trip is not None:
            return self._round_trip.begin(request)
        return None

    def _page(self, request: Request) -> Response:
        wrong = _NO_LINK if PARAMETER in request.query_params else ""
        if self._round_trip is None:
            return login_page(request, wrong=wrong)
        return self._round_trip.page(request, wrong=wrong, to=address_of(request))

    # -- with a view-only link -----------------------------------------------------------------------

    async def _answer_by_link(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Let a visitor look at the sessions whose links they followed; whether they had any.

        A page is there by the link in its own address, all else by the cookie that the page brought: the
        address of a websocket names no session.
        """
        connection = HTTPConnection(scope)
        if self._links is None or scope.get("method", "GET") not in ("GET", "HEAD"):
            return False
        page = scope["type"] == "http" and _is_page(connection)
        named = [(connection.query_params.get("session", ""), connection.query_params.get(PARAMETER, ""))]
        valid = await self._valid_links(named if page else _cookie_links(connection))
        if not valid:
            return False
        viewing = _seen_scope(scope, sessions=[session for session, _ in valid])
        if scope["type"] == "websocket":
            await self._app(viewing, *_while_admitted(partial(self._all_valid, valid), receive, send))
        else:
            await self._app(viewing, receive, _cookie_sender(valid, connection, send) if page else send)
        return True

    async def _valid_links(self, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of the links, as sessions and values, that admit now."""
        admits = self._links.admits if self._links is not None else None
        return [link for link in links if admits is not None and await asyncio.to_thread(admits, *link)]

    async def _all_valid(self, links: list[tuple[str, str]]) -> bool:
        return await self._valid_links(links) == links

    async def _answer_attempt(self, password: Password, request: Request) -> Response:
        if wait := self._wait((_client(request), ATTEMPTS), ("all", ALL_ATTEMPTS)):
            return login_page(request, wrong=_too_often(wait), status=429, wait=wait)
        if not password.is_right(await _typed_password(request)):
            return login_page(request, wrong="Wrong password.")
        answer = Response(
            status_code=303, headers={"Location": address_of(request), "Cache-Control": "no-store"}
        )
        answer.set_cookie(
            session_cookie(request),
            password.open_session(),
            max_age=password.seconds,
            httponly=True,
            samesite="strict",
            secure=is_encrypted(request),
        )
        return answer

    async def _answer_return(self, request: Request) -> Response:
        assert self._round_trip is not None, "people log in"
        if wait := self._wait((_client(request), ALL_ATTEMPTS)):
            return self._round_trip.page(request, wrong=_too_often(wait))
        return await self._round_trip.end(request)

    def _wait(self, *limits: tuple[str, int]) -> int:
        """Seconds until all of these, with a limit a minute each, may try again; 0: now."""
        waits = (self._attempts.wait(client, limit) for client, limit in limits)
        return next((math.ceil(wait) for wait in waits if wait), 0)

    @staticmethod
    async def _answer_logout(logins: SignedSessions, session: str, request: Request) -> Response:
        answer = Response(status_code=303, headers={"Location": "./", "Cache-Control": "no-store"})
        if logins.admits(session):
            logins.close_session(session)
            answer.delete_cookie(session_cookie(request), httponly=True, samesite="strict")
        return answer


async def _admits_session(admits: Callable[[str], bool], session: str) -> bool:
    return admits(session)


def _while_admitted(
    admitted: Callable[[], Awaitable[bool]], receive: Receive, send: Send
) -> tuple[Receive, Send]:
    """Both ways of a websocket as long as its visitor is admitted; the first message after that closes it."""
    closed = False

    async def received() -> Message:
        nonlocal closed
        message = await receive()
        if message["type"] == "websocket.receive" and not await admitted():
            closed = True
            await send({"type": "websocket.close", "code": 1008})
            return {"type": "websocket.disconnect", "code": 1008}
        return message

    async def sent(message: Message) -> None:
        if not closed:
            await send(message)

    return received, sent


def _seen_scope(scope: Scope, *, sessions: Collection[str] = (), person: str = "") -> Scope:
    """The scope that shows the app which sessions alone may be looked at, or none if all may be used, and
    who is logged in.
    """
    own = {VIEWED.encode(): ",".join(sessions), PERSON.encode(): quote(person)}
    others = [(key, value) for key, value in scope["headers"] if key not in own]
    return {**scope, "headers": [*others, *((key, value.encode()) for key, value in own.items() if value)]}


def _cookie_links(connection: HTTPConnection) -> list[tuple[str, str]]:
    """The sessions and the values of the links that a browser followed."""
    prefix = _view_cookie(connection, "")
    return [
        (name.removeprefix(prefix), value)
        for name, value in connection.cookies.items()
        if name.startswith(prefix)
    ]


def _cookie_sender(links: list[tuple[str, str]], connection: HTTPConnection, send: Send) -> Send:
    """Send an answer with the cookies of these links."""
    response = Response()
    for session, value in links:
        response.set_cookie(
            _view_cookie(connection, session),
            value,
            max_age=SESSION_SECONDS,
            httponly=True,
            # Where a page of another site links here, a strict one would be missing at the next reload.
            samesite="lax",
            secure=is_encrypted(connection),
        )
    cookies = response.headers.getlist("set-cookie")

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for cookie in cookies:
                headers.append("set-cookie", cookie)
        await send(message)

    return sent


def _is_page(connection: HTTPConnection) -> bool:
    return "text/html" in connection.headers.get("accept", "")


async def _typed_password(request: Request) -> str:
    """The password in a form; "" without one, and for a form that is too long or too slow."""
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


def _is_form(request: Request) -> bool:
    return request.method == "POST" and request.headers.get("content-type", "").startswith(_FORM)


def _view_cookie(connection: HTTPConnection, session: str) -> str:
    """The name of the cookie of a session's link."""
    return f"conductor-view{port_of(connection)}-{session}"


def _client(request: Request) -> str:
    """What one person has of an address: an IPv4 address, or the half of an IPv6 one."""
    client = "-" if request.client is None else request.client.host
    address = address_in(client)
    return str(ip_network((address, 64), strict=False)) if isinstance(address, IPv6Address) else client


def _too_often(wait: int) -> str:
    return f"Too many attempts. Try again in {wait} s."


def _only_local() -> ApiError:
    return ApiError(
        "This server has no password, so it answers only its own machine. To use it from here, have "
        f"its owner set {SETTING} and start it again.",
        status=403,
        code="loopback_only",
    )


def _no_session() -> ApiError:
    return ApiError(
        "This page needs a login. Open the app in a browser and log in.",
        status=401,
        code="login_required",
    )
