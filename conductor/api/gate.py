"""Who may use the API: checks where a request comes from, its token, its pace and what is left to spend.

Without any token this machine alone may; with one, everybody needs one. Knows headers and addresses; how
tokens are kept is told to it. Of a token's text nothing is kept, logged or repeated.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from conductor.api.caller import Caller
from conductor.api.errors import ApiError
from conductor.api.limits import Limits, Pace
from conductor.api.origins import check_origin, configured_hosts, is_local
from conductor.api.token import Spent, Token, end_of, is_secret_of, read_token
from conductor.budget import Budget
from conductor.messages import Usage

OWN_KEY = secrets.token_urlsafe(32)
"""With this key the process calls its own API; it lives as long as the process and is written nowhere."""

_NO_SUCH_DIGEST = "0" * 64


class Tokens(Protocol):
    """Whoever keeps the tokens. Any thread may ask; raises `StorageError`."""

    def has_tokens(self) -> bool:
        """Whether there is a token that was not revoked."""
        ...

    def token_with_digest(self, id: str) -> tuple[Token, str] | None:
        """The token of that id, also one that was revoked, and the digest of its secret."""
        ...

    def token_spent(self, id: str) -> Spent:
        """What its requests have used in the period of its budget that is now."""
        ...

    def note_token_use(self, token: Token) -> None:
        """Keep that a request came with it; may be kept a little later."""
        ...

    def note_token_spent(self, id: str, usage: Usage) -> None:
        """Keep what a request of it has used."""
        ...


class TokenGate:
    """See `Gate`. `tokens` may open the store on the first call; `hosts` are names that the server goes by,
    beside localhost and addresses.

    Used in one event loop; `clock` is in Unix seconds.
    """

    def __init__(
        self,
        tokens: Callable[[], Tokens],
        *,
        hosts: Collection[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._hosts = configured_hosts() if hosts is None else hosts
        self._clock = clock
        self._limits = Limits(time.monotonic)

    async def admit(self, headers: Mapping[str, str], client: str | None) -> Caller:
        """See `Gate.admit`."""
        check_origin(headers, hosts=self._hosts)
        bearer = _bearer(headers)
        if bearer is not None and hmac.compare_digest(bearer.encode(), OWN_KEY.encode()):
            return Caller()
        read = read_token(bearer or "")
        token = None if read is None else await asyncio.to_thread(self._known, *read)
        if token is not None:
            return await self._admitted(token)
        if await asyncio.to_thread(lambda: self._tokens().has_tokens()):
            raise _no_token(given=bearer is not None)
        if not is_local(headers, client):
            raise _only_here()
        return Caller()

    async def spent(self, caller: Caller, usage: Usage) -> None:
        """See `Gate.spent`."""
        token = caller.token
        if token is not None:
            self._limits.spend(token, usage.total or 0)
            await asyncio.to_thread(lambda: self._tokens().note_token_spent(token, usage))

    async def _admitted(self, token: Token) -> Caller:
        limits = token.limits
        pace = self._limits.admit(
            token.id, requests=limits.requests_per_minute, tokens=limits.tokens_per_minute
        )
        if pace.wait:
            raise _too_fast(token, pace)
        budget = await asyncio.to_thread(self._left, token, pace)
        return Caller(token=token.id, workers=limits.workers, budget=budget, headers=pace.headers)

    def _known(self, id: str, secret: str) -> Token | None:
        """The token of that id and secret. Raises `ApiError` for one that was revoked."""
        token, digest = self._tokens().token_with_digest(id) or (None, _NO_SUCH_DIGEST)
        if not is_secret_of(digest, secret) or token is None:
            return None
        if token.revoked_at is not None:
            raise _refused("This token was revoked; ask for another one.", code="invalid_api_key")
        return token

    def _left(self, token: Token, pace: Pace) -> Budget | None:
        """What a request may use of the token's budget. Raises `ApiError` where nothing is left."""
        self._tokens().note_token_use(token)
        limits = token.limits
        if limits.tokens is None and limits.cost is None:
            return None
        spent = self._tokens().token_spent(token.id)
        tokens = None if limits.tokens is None else limits.tokens - spent.tokens
        cost = None if limits.cost is None else limits.cost - spent.cost
        if (tokens is not None and tokens <= 0) or (cost is not None and cost <= 0):
            raise self._used_up(token, pace)
        return Budget(tokens=tokens, cost=cost)

    def _used_up(self, token: Token, pace: Pace) -> ApiError:
        now = self._clock()
        again = end_of(token.limits.period, now=now)
        # Without the first, clients would try again within seconds.
        headers = {"x-should-retry": "false", **pace.headers}
        if again is not None:
            headers["retry-after"] = str(math.ceil(again - now))
        each = "" if again is None else f" of this {token.limits.period}"
        return ApiError(
            f"The budget{each} of the token {token.name!r} is used up; the pool page of the app and "
            "`python -m conductor tokens` tell what was spent, and make other tokens.",
            status=429,
            type="insufficient_quota",
            code="insufficient_quota",
            headers=headers,
        )


def _bearer(headers: Mapping[str, str]) -> str | None:
    scheme, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None


def _refused(message: str, *, code: str | None) -> ApiError:
    return ApiError(
        message,
        status=401,
        type="authentication_error",
        code=code,
        headers={"www-authenticate": "Bearer"},
    )


def _no_token(*, given: bool) -> ApiError:
    if given:
        return _refused(
            "This token is not one of this server's. Give a whole one as `Authorization: Bearer TOKEN`; "
            "`python -m conductor tokens create NAME` makes one.",
            code="invalid_api_key",
        )
    return _refused(
        "This server needs a token. Give one as `Authorization: Bearer TOKEN`, as OpenAI's clients do with "
        "their API key; `python -m conductor tokens create NAME` makes one.",
        code=None,
    )


def _only_here() -> ApiError:
    return ApiError(
        "This server has no token yet and so answers its own machine only. To use it from here, have its "
        "owner make a token: `python -m conductor tokens create NAME`, or the pool page of the app.",
        status=403,
        type="permission_error",
        code="loopback_only",
    )


def _too_fast(token: Token, pace: Pace) -> ApiError:
    limit = pace.headers[f"x-ratelimit-limit-{pace.kind}"]
    return ApiError(
        f"The token {token.name!r} may have {int(limit):,} {pace.kind} a minute; ask again in "
        f"{math.ceil(pace.wait)} s.",
        status=429,
        type=pace.kind,
        code="rate_limit_exceeded",
        headers={"retry-after": str(math.ceil(pace.wait)), **pace.headers},
    )
