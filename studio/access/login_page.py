"""The page at which a person logs in, and the cookies and addresses of their browser. Knows no login."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

_PAGE = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
).get_template("login.html")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}


def login_page(
    connection: HTTPConnection,
    *,
    wrong: str = "",
    status: int = 401,
    wait: int = 0,
    provider: str = "",
    begin: str = "",
) -> Response:
    """The page with a field for the password, or with a link `begin` to the `provider`; `wrong` is why a
    login failed, and `wait` the seconds until the next one.
    """
    # The browser sends no strict cookie where a link of another site leads here.
    linked = not provider and connection.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    text = _PAGE.render(
        wrong=wrong, again=address_of(connection) if linked else "", provider=provider, begin=begin
    )
    return HTMLResponse(text, status, headers=_HEADERS | ({"Retry-After": str(wait)} if wait else {}))


def address_of(connection: HTTPConnection) -> str:
    """The requested address, relative to there; it leads to no other server whatever the path is."""
    query = connection.scope["query_string"].decode("latin-1")
    return f"./{quote(connection.scope['path'].rpartition('/')[2])}{f'?{query}' if query else ''}"


def session_cookie(connection: HTTPConnection) -> str:
    """The cookie's name; servers on other ports of a machine are sent its cookies, too."""
    return f"conductor-session{port_of(connection)}"


def port_of(connection: HTTPConnection) -> str:
    """What the names of cookies end in."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"-{port}" if port.isdecimal() else ""


def is_encrypted(connection: HTTPConnection) -> bool:
    """Whether the browser uses https; a proxy may have ended that."""
    return connection.url.scheme == "https" or connection.headers.get("origin", "").startswith("https://")
