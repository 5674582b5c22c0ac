"""Refuses foreign names and origins: one policy for every request and websocket, before all else.

Guards what programs and people on this machine may use against pages of other sites that a browser on it has
open. Knows headers and ASGI; knows no token, no password and no Streamlit.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from conductor.own_settings import setting
from studio.access.errors import ApiError

HOSTS = "CONDUCTOR_API_HOSTS"
"""The environment variable with the names, separated by commas, that this server goes by."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:@/?#\[\]]+)(?::([0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}


def configured_hosts(*listening: str | None) -> frozenset[str]:
    """The names, in lower case, in `CONDUCTOR_API_HOSTS` and among the addresses that are listened at."""
    named = [*(setting(HOSTS) or "").split(","), *filter(None, listening)]
    names = {name.strip().strip("[]").lower().rstrip(".") for name in named}
    return frozenset(name for name in names if name and name != "localhost" and address_in(name) is None)


class OwnOrigin:
    """Middleware that answers 403 to a foreign name or origin, as `check_origin` finds them."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                check_origin(Headers(scope=scope), hosts=self._hosts, method=scope.get("method"))
            except ApiError as error:
                await refuse(error, scope, receive, send)
                return
        await self._app(scope, receive, send)


async def refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the error: in OpenAI's shape to programs, in plain text to a browser's page."""
    if scope["type"] == "websocket":
        # Before it is accepted, the server answers this with 403.
        await WebSocketClose(code=1008)(scope, receive, send)
    elif "text/html" in Headers(scope=scope).get("accept", ""):
        await PlainTextResponse(str(error), status_code=error.status)(scope, receive, send)
    else:
        await JSONResponse(error.shape, status_code=error.status)(scope, receive, send)


def check_origin(headers: Headers, *, hosts: Collection[str], method: str | None) -> None:
    """Raise `ApiError` for a name that is not this server's, and for a page of another site.

    `hosts` are its names beside localhost and addresses; `method` is None for a websocket. A page whose name
    was turned to this machine's address after it was loaded asks by that name; addresses cannot be turned
    so, and are let through. Another port of the same machine is another site.
    """
    named = headers.getlist("host")
    host = named[0] if len(named) == 1 else ""
    if not _is_known(host, hosts):
        raise ApiError(
            f"This server does not go by the name {host[:100]!r}. Ask it as localhost, by its address, or "
            f"have its owner add the name to {HOSTS}.",
            status=403,
            code="host_not_allowed",
        )
    origins = headers.getlist("origin")
    # Every browser sends one with a websocket.
    missing = method is None and not origins
    if missing or not all(_is_own(origin, host) for origin in origins) or _is_cross_site(headers, method):
        raise ApiError(
            "Pages of other sites may not use this server from a browser; call it from a program, or from "
            "your own site's server.",
            status=403,
            code="origin_not_allowed",
        )


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a text writes, as IPv4 where it is one in the clothes of IPv6; else None."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_loopback(text: str) -> bool:
    """Whether a text is an address of this machine alone; names are none."""
    address = address_in(text)
    return address is not None and address.is_loopback


def host_in(host: str) -> str | None:
    """The name or address in a Host header, in lower case and without its port; None for another text."""
    match = _HOST.fullmatch(host)
    return None if match is None else match[1].strip("[]").lower()


def _is_known(host: str, hosts: Collection[str]) -> bool:
    name = host_in(host)
    return name is not None and (name == "localhost" or name in hosts or address_in(name) is not None)


def _is_own(origin: str, host: str) -> bool:
    """Whether a page's origin is this server; a proxy may have taken its scheme off."""
    scheme, _, netloc = origin.partition("://")
    own, target = _HOST.fullmatch(netloc), _HOST.fullmatch(host)
    default = _PORTS.get(scheme.lower())
    if own is None or target is None or default is None:
        return False
    same_name = own[1].lower() == target[1].lower()
    return same_name and int(own[2] or default) == int(target[2] or default)


def _is_cross_site(headers: Headers, method: str | None) -> bool:
    """Whether the browser marks it as another site's; a link that a person follows is not counted.

    Browsers send the mark also where they send no origin, as for a picture.
    """
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return not (link and method in ("GET", "HEAD"))
