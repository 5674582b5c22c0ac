"""Checks who may use the API: a request's token, its rate and the rest of its budget.

Every request needs a token: one of the store's, or this machine's. Only an open API admits programs on this
machine without one. Knows tokens and where they are stored; knows no HTTP. Stores, logs and repeats no token.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from conductor.own_settings import command_name
from conductor.runs.request import Asker
from conductor.values.budget import Budget
from conductor.workers.computed import is_computed
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from storage.api_token import Token, is_secret_of, read_token
from storage.limits import NO_RATE, Limits, end_of
from storage.store.parts import Tokens
from studio.access.errors import ApiError
from studio.access.origin_check import is_loopback
from studio.access.rate_limits import Admission, admission
from studio.sessions.notes import author

OWN_KEY = secrets.token_urlsafe(32)
"""The key with which the process calls its own API; it is as old as the process and written nowhere."""

_OWN_MARK = "~"

_NO_SUCH_DIGEST = "0" * 64


@dataclass(frozen=True)
class Principal:
    """Who sent a request, and what they may use. `token` is the id of their token in the store; None for
    programs on this machine.

    `workers` are the pool's workers that they may use, `tools` patterns of the tools that those may call,
    None for all; `budget` is the most that one request of theirs may spend, None if nothing is limited. A
    request may ask for less, never for more. `limits` are those of the token. `headers` go out with the
    answer, such as the number of requests left. `keeps_unstored`: what they ask not to store is stored all
    the same. `small_requests`: the worker that answers requests without tools in the place of a Conductor,
    None for no such rule.
    """

    token: str | None = None
    workers: tuple[str, ...] | None = None
    budget: Budget | None = None
    limits: Limits = Limits()
    headers: Mapping[str, str] = field(default_factory=dict)
    keeps_unstored: bool = False
    small_requests: str | None = None
    tools: tuple[str, ...] | None = None
    person: str | None = None

    @property
    def asker(self) -> Asker:
        """Who asks, for the ledger; a program on this machine asks for the person that `AUTHOR` names,
        the app for the one who uses it.
        """
        return Asker(person=self.person or author()) if self.token is None else Asker(token=self.token)

    def may_use(self, card: WorkerCard) -> bool:
        """Whether they may use that worker. A nested Conductor calls any worker of the pool, so it is only
        for a caller that may use them all; who calls none may be used by all.
        """
        return self.workers is None or is_computed(card) or (card.name in self.workers and not card.nested)

    def reached(
        self, cards: Iterable[WorkerCard], *, among: Collection[str] | None = None
    ) -> frozenset[str] | None:
        """The names of those that they may use, of these names and of all that compute; None for all."""
        if self.workers is None and among is None:
            return None
        return frozenset(
            card.name
            for card in cards
            if self.may_use(card) and (among is None or card.name in among or is_computed(card))
        )

    def may_run(self, workflow: Workflow, cards: Mapping[str, WorkerCard]) -> bool:
        """Whether they may use all workers of the workflow; `cards` are the pool's."""
        return self.workers is None or all(
            name in cards and self.may_use(cards[name]) for name in workflow.workers()
        )


class TokenAuthenticator:
    """Admits requests, before anything but their headers is read.

    `tokens` may open the store on the first call. `machine` returns this machine's token, None if there is
    none; it is called for each request. `is_open` admits programs on this machine without one;
    `keeps_unstored` is for programs on this machine. Used in one event loop; `clock` is in Unix seconds.
    """

    def __init__(
        self,
        tokens: Callable[[], Tokens],
        *,
        machine: Callable[[], str | None],
        is_open: bool = False,
        keeps_unstored: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._machine = machine
        self._open = is_open
        self._keeps_unstored = keeps_unstored
        self._clock = clock

    async def authenticate(self, bearer: str | None, client: str | None) -> Principal:
        """Who sends a request with this bearer token from the address `client`.

        Raises `ApiError` where they may not.
        """
        token = await self.identify(bearer, client)
        if token is None:
            return Principal(keeps_unstored=self._keeps_unstored, person=_own_person(bearer))
        return await asyncio.to_thread(self._admitted, token)

    async def identify(self, bearer: str | None, client: str | None) -> Token | None:
        """The token of who sends a request, None for programs on this machine; counts nothing and looks at no
        limit.

        Raises `ApiError` where they may not.
        """
        if bearer is not None and await asyncio.to_thread(self._is_machines, bearer):
            return None
        read = read_token(bearer or "")
        token = None if read is None else await asyncio.to_thread(self._token_of, *read)
        if token is None and not (self._open and is_loopback(client or "")):
            raise _no_token(is_sent=bearer is not None)
        return token

    async def record_usage(self, principal: Principal, tokens: int, *, repeats: bool = False) -> None:
        """Record that a request has ended, also where it was stopped, and charge the limit of tokens a
        minute; the ledger has what it took. `repeats`: it was a further answer to a request.
        """
        if principal.token is not None:
            await asyncio.to_thread(self._record, principal.token, principal.limits, tokens, repeats)

    def _record(self, token: str, limits: Limits, tokens: int, repeats: bool) -> None:
        self._tokens().spend(Asker(token=token), limits, tokens)
        if not repeats:
            self._tokens().note_request(token)

    def _admitted(self, token: Token) -> Principal:
        levels = self._tokens().take(Asker(token=token.id), token.limits)
        admitted = admission(token.limits, levels)
        if not levels.passed:
            raise _too_fast(token, admitted)
        return self._principal(token, admitted)

    async def sender(self, token: str | None, *, person: str | None = None) -> Principal | None:
        """Who sent an earlier request with the token of that id (None: without one, for `person`), which goes
        on within the token's limits of now. None if the token was revoked, or its budget is used up.
        """
        if token is None:
            return Principal(keeps_unstored=self._keeps_unstored, person=person)
        stored = await asyncio.to_thread(lambda: self._tokens().with_digest(token))
        if stored is None or stored[0].revoked_at is not None:
            return None
        try:
            admitted = admission(Limits(), NO_RATE)
            return await asyncio.to_thread(self._principal, stored[0], admitted)
        except ApiError:
            return None

    def _principal(self, token: Token, admitted: Admission) -> Principal:
        limits = token.limits
        return Principal(
            token=token.id,
            workers=limits.workers,
            budget=self._left(token, admitted),
            limits=limits,
            headers=admitted.headers,
            keeps_unstored=limits.keeps_unstored,
            small_requests=limits.small_requests,
            tools=limits.tools,
        )

    def _is_machines(self, bearer: str) -> bool:
        machine = self._machine()
        return _is_own(bearer) or (
            machine is not None and hmac.compare_digest(bearer.encode(), machine.encode())
        )

    def _token_of(self, id: str, secret: str) -> Token | None:
        """The token of that id and secret. Raises `ApiError` for a revoked one."""
        token, digest = self._tokens().with_digest(id) or (None, _NO_SUCH_DIGEST)
        if not is_secret_of(digest, secret) or token is None:
            return None
        if token.revoked_at is not None:
            raise _refused("This token was revoked; ask for another one.", code="invalid_api_key")
        return token

    def _left(self, token: Token, admitted: Admission) -> Budget | None:
        """What a request may use of the token's budget. Raises `ApiError` where nothing is left."""
        self._tokens().note_use(token)
        if not token.limits.has_budget:
            return None
        left = token.limits.left(self._tokens().spent(token.id))
        if left is None:
            raise self._used_up(token, admitted)
        return left

    def _used_up(self, token: Token, admitted: Admission) -> ApiError:
        now = self._clock()
        again = end_of(token.limits.period, now=now)
        # Without the first header, clients would try again within seconds.
        headers = {"x-should-retry": "false", **admitted.headers}
        if again is not None:
            headers["retry-after"] = str(math.ceil(again - now))
        each = "" if again is None else f" of this {token.limits.period}"
        return ApiError(
            f"The budget{each} of the token {token.name!r} is used up; the pool page of the app and "
            f"`{command_name()} tokens` show what was spent, and create other tokens.",
            status=429,
            type="insufficient_quota",
            code="insufficient_quota",
            headers=headers,
        )


def own_key(person: str | None) -> str:
    """The key with which the app calls its own API for this person."""
    return OWN_KEY if person is None else f"{OWN_KEY}{_OWN_MARK}{quote(person)}"


def _is_own(bearer: str) -> bool:
    return hmac.compare_digest(bearer.partition(_OWN_MARK)[0].encode(), OWN_KEY.encode())


def _own_person(bearer: str | None) -> str | None:
    if bearer is None or not _is_own(bearer):
        return None
    return unquote(bearer.partition(_OWN_MARK)[2]) or None


def _refused(message: str, *, code: str | None) -> ApiError:
    return ApiError(
        message,
        status=401,
        code=code,
        headers={"www-authenticate": "Bearer"},
    )


def _no_token(*, is_sent: bool) -> ApiError:
    which = (
        "on the server's own machine that of its file api-token, else one that "
        f"`{command_name()} tokens create NAME` creates."
    )
    if is_sent:
        return _refused(
            "This token is not one of this server's. Give a whole one as `Authorization: Bearer TOKEN`: "
            f"{which}",
            code="invalid_api_key",
        )
    return _refused(
        "This server needs a token. Give one as `Authorization: Bearer TOKEN`, as OpenAI's clients do with "
        f"their API key: {which}",
        code=None,
    )


def _too_fast(token: Token, admitted: Admission) -> ApiError:
    limit, seconds = admitted.headers[f"x-ratelimit-limit-{admitted.kind}"], math.ceil(admitted.wait)
    return ApiError(
        f"The token {token.name!r} may have {int(limit):,} {admitted.kind} per minute; ask again in "
        f"{seconds} s.",
        status=429,
        type=admitted.kind,
        code="rate_limit_exceeded",
        headers={"retry-after": str(seconds), **admitted.headers},
    )
