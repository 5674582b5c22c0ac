"""The way of a browser to the provider and back, after which it has a session that names its person.

A login under way is a signed cookie of its browser, so any process with the same settings can end it. Knows
requests; what the provider answers is `provider`'s.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from conductor.own_settings import setting
from studio.access.errors import LoginError
from studio.access.login_page import login_page, port_of, session_cookie
from studio.access.openid.logins import People
from studio.access.openid.provider import LoginAttempt, Provider
from studio.access.signed_sessions import SignedSessions

LOGIN = "/login"
CALLBACK = "/oauth2callback"
"""Where the provider sends a browser back: the address that the provider's settings name."""

ATTEMPT_SECONDS = 600

_LONGEST_TARGET = 1_500

_OTHER = re.compile("[^0-9a-f]")


class RoundTrip:
    """Logs browsers in at the provider of `people`; `base` is the path that the app is below, "" for none.

    Used in one event loop.
    """

    def __init__(self, people: People, *, base: str = "") -> None:
        self._people = people
        self._base = base
        self._provider = Provider(people)
        self._attempts = SignedSessions(
            lambda: people.derived("logins under way"), seconds=ATTEMPT_SECONDS, clock=people.clock
        )

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider; it returns to the address `to` of the app."""
        to = _target(request.query_params.get("to", ""))
        held = self._attempts.open_session(to)
        attempt = self._attempt(request, held)
        try:
            address = await self._provider.login_address(attempt)
        except LoginError as error:
            return self.page(request, wrong=str(error), to=to)
        answer = _redirect(address)
        _set(answer, _attempt_cookie(request, attempt.state), held, ATTEMPT_SECONDS, attempt)
        return answer

    async def end(self, request: Request) -> Response:
        """Give the browser that comes back a session, or name on the page why it gets none."""
        cookie = _attempt_cookie(request, request.query_params.get("state", ""))
        held = request.cookies.get(cookie, "")
        target = self._attempts.read_session(held)
        try:
            answer = await self._admitted(request, held, target)
        except LoginError as error:
            answer = self.page(request, wrong=str(error), to=target or "")
        if held:
            answer.delete_cookie(cookie, httponly=True, samesite="lax")
        return answer

    def page(self, request: Request, *, wrong: str = "", to: str = "") -> Response:
        """The page with the link to the provider, from which the browser returns to the address `to`."""
        begin = f"{self._base}{LOGIN}?to={quote(to, safe='')}"
        return login_page(request, wrong=wrong, provider=self._people.provider, begin=begin)

    async def _admitted(self, request: Request, held: str, target: str | None) -> Response:
        query = request.query_params
        attempt = self._attempt(request, held)
        if target is None or not hmac.compare_digest(attempt.state.encode(), query.get("state", "").encode()):
            raise LoginError(
                "This login was begun in another browser or more than ten minutes ago, or it has ended. "
                "Log in again."
            )
        self._attempts.close_session(held)
        if "code" not in query or query.get("iss", self._people.issuer).rstrip("/") != self._people.issuer:
            refusal = f" ({query['error'][:60]})" if "error" in query else ""
            raise LoginError(f"{self._people.provider} did not log you in{refusal}. Log in again.")
        person = await self._provider.person(attempt, query["code"])
        answer = _redirect(target)
        _set(
            answer, session_cookie(request), self._people.open_session(person), self._people.seconds, attempt
        )
        return answer

    def _attempt(self, request: Request, held: str) -> LoginAttempt:
        app = setting("CONDUCTOR_APP_URL") or f"{request.url.scheme}://{request.url.netloc}{self._base}"
        secret = hmac.digest(self._people.derived("a login"), held.encode(errors="replace"), hashlib.sha256)
        return LoginAttempt(secret, f"{app.rstrip('/')}{CALLBACK}")


def _redirect(address: str) -> Response:
    return Response(status_code=303, headers={"Location": address, "Cache-Control": "no-store"})


def _set(answer: Response, cookie: str, value: str, seconds: int, attempt: LoginAttempt) -> None:
    answer.set_cookie(
        cookie,
        value,
        max_age=seconds,
        httponly=True,
        # The provider's page leads back here, and a browser would send no strict one then.
        samesite="lax",
        secure=attempt.address.startswith("https://"),
    )


def _attempt_cookie(request: Request, state: str) -> str:
    """Of a login each, so that those of two tabs do not end each other."""
    # A state that is none may have any characters, and a cookie's name has few.
    return f"conductor-login{port_of(request)}-{_OTHER.sub('', state[:8])}"


def _target(to: str) -> str:
    """The address as one beside this one, which leads to no other server whatever the text is."""
    path, _, query = to.removeprefix("./").partition("?")
    more = f"?{quote(query, safe='%=&+')}" if query else ""
    target = f"./{quote(path, safe='%')}{more}"
    return target if len(target) <= _LONGEST_TARGET else "./"
