"""A bearer token: its record, its limits, and how its secret is made and checked.

The text of a token is `conductor_<id>_<secret>`; only the id and a digest are stored. Pure; knows neither
requests nor how tokens are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

from pydantic import Field

from conductor.values.messages import Value
from storage.limits import Limits

MAX_NAME = 60

_ID_BYTES = 5
_SECRET_BYTES = 32
_TEXT = re.compile(r"conductor_([0-9a-f]{10})_([\w-]{43})", re.ASCII)


class TokenLimits(Limits):
    """What a token allows; None leaves one open.

    `workers` are those of the pool that its requests may have, `tools` those of the workers' own tools that
    they may call, by patterns (SERVER, SERVER:NAME). `keeps_unstored`: what its requests ask not to store
    is stored all the same. `small_requests` is the worker that answers in the place of a Conductor where a
    request offers no tools, as for the title of an agent's conversation.
    """

    workers: tuple[str, ...] | None = None
    keeps_unstored: bool = False
    small_requests: str | None = None
    tools: tuple[str, ...] | None = Field(default=None, exclude_if=lambda tools: tools is None)

    @property
    def texts(self) -> tuple[str, ...]:
        texts = [*super().texts]
        if self.workers is not None:
            texts.append(f"only {', '.join(self.workers)}")
        if self.tools is not None:
            texts.append(f"only the tools {', '.join(self.tools)}" if self.tools else "no tools of workers")
        if self.small_requests is not None:
            texts.append(f"small requests to {self.small_requests}")
        if self.keeps_unstored:
            texts.append("unstored requests stay")
        return tuple(texts)


class Token(Value):
    """A token as it is listed; times in Unix seconds, `used_at` of its last request."""

    id: str
    name: str
    created_at: float
    used_at: float | None = None
    revoked_at: float | None = None
    limits: TokenLimits = TokenLimits()


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
