"""Who may use the API: checks a request's token, its rate and the rest of its budget.

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

from conductor.runs.request import Asker
from conductor.typed_command import command_name
from conductor.values.budget import Budget
from conductor.workers.computed import is_computed
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Workflow
from storage.api_token import Token, end_of, is_secret_of, read_token
from storage.store.parts import Tokens
from studio.access.errors import ApiError
from studio.access.origin_check import is_loopback
from studio.access.rate_limits import Admission, RateLimits
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
    request may ask for less, never for more. `headers` go out with the answer, such as the number of requests
    left. `keeps_unstored`: what they ask not to store is stored all the same. `small_requests`: the worker
    that answers requests without tools in the place of a Conductor, None for no such rule.
    """

    token: str | None = None
    workers: tuple[str, ...] | None = None
    budget: Budget | None = None
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
        self._limits = RateLimits(time.monotonic)

    async def authenticate(self, bearer: str | None, client: str | None) -> Principal:
        """Who sends a request with this bearer token from the address `client`.

        Raises `ApiError` where they may not.
        """
        token = await self.identify(bearer, client)
        if token is None:
            return Principal(keeps_unstored=self._keeps_unstored, person=_own_person(bearer))
        return await self._admitted(token)

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
        token = principal.token
        if token is not None:
            self._limits.spend(token, tokens)
            if not repeats:
                await asyncio.to_thread(lambda: self._tokens().note_request(token))

    async def _admitted(self, token: Token) -> Principal:
        limits = token.limits
        admission = self._limits.admit(
            token.id, requests=limits.requests_per_minute, tokens=limits.tokens_per_minute
        )
        if admission.wait:
            raise _too_fast(token, admission)
        return await self._principal(token, admission)

    async def sender(self, token: str | None) -> Principal | None:
        """Who sent an earlier request with the token of that id (None: without one), which goes on within the
        token's limits of now. None if the token was revoked, or its budget is used up.
        """
        if token is None:
            return Principal(keeps_unstored=self._keeps_unstored)
        stored = await asyncio.to_thread(lambda: self._tokens().with_digest(token))
        if stored is None or stored[0].revoked_at is not None:
            return None
        try:
            return await self._principal(stored[0], Admission(wait=0.0, kind="requests", headers={}))
        except ApiError:
            return None

    async def _principal(self, token: Token, admission: Admission) -> Principal:
        limits = token.limits
        budget = await asyncio.to_thread(self._left, token, admission)
        return Principal(
            token=token.id,
            workers=limits.workers,
            budget=budget,
            headers=admission.headers,
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

    def _left(self, token: Token, admission: Admission) -> Budget | None:
        """What a request may use of the token's budget. Raises `ApiError` where nothing is left."""
        self._tokens().note_use(token)
        limits = token.limits
        if limits.tokens is None and limits.cost is None:
            return None
        spent = self._tokens().spent(token.id)
        tokens = None if limits.tokens is None else limits.tokens - spent.tokens
        cost = None if limits.cost is None else limits.cost - spent.cost
        if (tokens is not None and tokens <= 0) or (cost is not None and cost <= 0):
            raise self._used_up(token, admission)
        return Budget(tokens=tokens, cost=cost)

    def _used_up(self, token: Token, admission: Admission) -> ApiError:
        now = self._clock()
        again = end_of(token.limits.period, now=now)
        # Without the first header, clients would try again within seconds.
        headers = {"x-should-retry": "false", **admission.headers}
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


def _too_fast(token: Token, admission: Admission) -> ApiError:
    limit = admission.headers[f"x-ratelimit-limit-{admission.kind}"]
    return ApiError(
        f"The token {token.name!r} may have {int(limit):,} {admission.kind} per minute; ask again in "
        f"{math.ceil(admission.wait)} s.",
        status=429,
        type=admission.kind,
        code="rate_limit_exceeded",
        headers={"retry-after": str(math.ceil(admission.wait)), **admission.headers},
    )
