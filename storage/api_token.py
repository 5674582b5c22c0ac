"""A bearer token: its record, its limits, and how its secret is made and checked.

The text of a token is `conductor_<id>_<secret>`; only the id and a digest are stored. Pure; knows neither
requests nor how tokens are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import Field

from conductor.values.messages import Value

Period = Literal["day", "month", "total"]
"""What a token's budget is for: each day or month of the calendar (UTC), or all its requests together."""

MAX_NAME = 60

_ID_BYTES = 5
_SECRET_BYTES = 32
_TEXT = re.compile(r"conductor_([0-9a-f]{10})_([\w-]{43})", re.ASCII)


class TokenLimits(Value):
    """What a token allows; None leaves one open.

    `workers` are those of the pool that its requests may have, `tools` those of the workers' own tools that
    they may call, by patterns (SERVER, SERVER:NAME). `tokens` and `cost` (US dollars) are the
    budget of a `period`; those `per_minute` are rates. `keeps_unstored`: what its requests ask not to store
    is stored all the same. `small_requests` is the worker that answers in the place of a Conductor where a
    request offers no tools, as for the title of an agent's conversation.
    """

    workers: tuple[str, ...] | None = None
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    period: Period = "total"
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    keeps_unstored: bool = False
    small_requests: str | None = None
    tools: tuple[str, ...] | None = Field(default=None, exclude_if=lambda tools: tools is None)


class Token(Value):
    """A token as it is listed; times in Unix seconds, `used_at` of its last request."""

    id: str
    name: str
    created_at: float
    used_at: float | None = None
    revoked_at: float | None = None
    limits: TokenLimits = TokenLimits()


class Spent(Value):
    """What a token's `requests` have used together, by estimate what no endpoint reports.

    `unknown_tokens` counts the calls whose tokens are in the sum by estimate; `unknown_costs` those whose
    dollars are, or are not in it, where their worker has no price.
    """

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    unknown_tokens: int = 0
    unknown_costs: int = 0


def limit_texts(limits: TokenLimits) -> tuple[str, ...]:
    """Each limit in words; empty without a limit."""
    each = {"day": "a day", "month": "a month", "total": "in total"}[limits.period]
    amounts = (
        (limits.tokens, "{:,} tokens " + each),
        (limits.cost, "${:g} " + each),
        (limits.requests_per_minute, "{:,} requests per minute"),
        (limits.tokens_per_minute, "{:,} tokens per minute"),
    )
    texts = [words.format(amount) for amount, words in amounts if amount is not None]
    if limits.workers is not None:
        texts.append(f"only {', '.join(limits.workers)}")
    if limits.tools is not None:
        texts.append(f"only the tools {', '.join(limits.tools)}" if limits.tools else "no tools of workers")
    if limits.small_requests is not None:
        texts.append(f"small requests to {limits.small_requests}")
    if limits.keeps_unstored:
        texts.append("unstored requests stay")
    return tuple(texts)


class Secret(NamedTuple):
    """A new token: its id, its whole text, which is shown once, and the digest that is stored."""

    id: str
    text: str
    digest: str


def new_secret() -> Secret:
    id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    return Secret(id=id, text=f"conductor_{id}_{secret}", digest=digest_of(secret))


def read_token(text: str) -> tuple[str, str] | None:
    """The id and the secret in a token's text, or None for another text."""
    match = _TEXT.fullmatch(text)
    return None if match is None else (match[1], match[2])


def digest_of(secret: str) -> str:
    """The SHA-256 digest of a secret, in hexadecimal.

    One round suffices for 256 random bits, which cannot be guessed; a slow hash is for passwords, which
    people choose.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def is_secret_of(digest: str, secret: str) -> bool:
    """Whether the digest is of that secret; takes as long for a wrong one."""
    return hmac.compare_digest(digest, digest_of(secret))


def begin_of(period: Period, *, now: float) -> float:
    """When the period began that `now` is in; both in Unix seconds."""
    day = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {"day": day.timestamp(), "month": day.replace(day=1).timestamp(), "total": 0.0}[period]


def end_of(period: Period, *, now: float) -> float | None:
    """When the next period begins (Unix seconds), or None without a period."""
    at = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "day":
            return (at + timedelta(days=1)).timestamp()
        case "month":
            return (at.replace(day=1) + timedelta(days=32)).replace(day=1).timestamp()
        case "total":
            return None


def day_of(now: float) -> str:
    """The day of the calendar (UTC), as 2026-11-01."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
