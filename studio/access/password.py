"""The app's password: whether a text is it, and the sessions of browsers that gave it. Knows no request."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from functools import partial

from conductor.errors import ServeError
from studio.access.signed_sessions import SignedSessions

SETTING = "CONDUCTOR_PASSWORD"
"""The environment variable with the app's password."""

SHORTEST = 12
SESSION_SECONDS = 7 * 24 * 3600

_SALT = b"conductor-studio sessions 1"


class Password(SignedSessions):
    """A password of `SHORTEST` characters or more; `ServeError` for a shorter one.

    Its sessions end where it is changed.
    """

    def __init__(self, text: str, *, clock: Callable[[], float] = time.time) -> None:
        if len(text) < SHORTEST:
            raise ServeError(
                f"{SETTING} has {len(text)} characters; choose a password of at least {SHORTEST}."
            )
        self._text = text.encode()
        super().__init__(slow_key(self._text, salt=_SALT), seconds=SESSION_SECONDS, clock=clock)

    def is_right(self, candidate: str) -> bool:
        """Whether that is the password; takes as long for a wrong one."""
        # Digests have one length, whatever was given.
        return hmac.compare_digest(_digest(candidate.encode(errors="surrogatepass")), _digest(self._text))


def slow_key(text: bytes, *, salt: bytes) -> Callable[[], bytes]:
    """What makes a key of the text, so slowly that the text cannot be guessed by comparing signatures with
    that of a known session.
    """
    return partial(hashlib.scrypt, text, salt=salt, n=2**14, r=8, p=1, dklen=32)


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
