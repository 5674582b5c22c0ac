"""The app's password: whether a text is it, and the sessions of browsers that gave it.

A session is a signed text that a browser holds as a cookie: it outlives a restart of the server, and ends
when it expires, is closed, or the password is changed. Knows no request.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from functools import cached_property

from conductor.errors import ServeError

SETTING = "CONDUCTOR_PASSWORD"
"""The environment variable with the app's password."""

SHORTEST = 12
SESSION_SECONDS = 7 * 24 * 3600

_SALT = b"conductor-studio sessions 1"


class Password:
    """A password of `SHORTEST` characters or more; `ServeError` for a shorter one.

    Used in one event loop; `clock` is in Unix seconds.
    """

    def __init__(self, text: str, *, clock: Callable[[], float] = time.time) -> None:
        if len(text) < SHORTEST:
            raise ServeError(
                f"{SETTING} has {len(text)} characters; choose a password of at least {SHORTEST}."
            )
        self._text = text.encode()
        self._clock = clock
        self._closed: dict[str, int] = {}

    def is_right(self, candidate: str) -> bool:
        """Whether that is the password; takes as long for a wrong one."""
        # Digests have one length, whatever was given.
        return hmac.compare_digest(_digest(candidate.encode(errors="surrogatepass")), _digest(self._text))

    def open_session(self) -> str:
        """A new session, which ends after `SESSION_SECONDS`."""
        head = f"{int(self._clock()) + SESSION_SECONDS}.{secrets.token_urlsafe(16)}"
        return f"{head}.{self._signature(head)}"

    def admits(self, session: str) -> bool:
        """Whether that is a session of this password which has not ended."""
        head, _, signature = session.rpartition(".")
        if not hmac.compare_digest(self._signature(head).encode(), signature.encode(errors="replace")):
            return False
        return int(head.partition(".")[0]) > self._clock() and head not in self._closed

    def close_session(self, session: str) -> None:
        """End one session that is admitted, in this process only."""
        now = self._clock()
        self._closed = {head: end for head, end in self._closed.items() if end > now}
        head = session.rpartition(".")[0]
        self._closed[head] = int(head.partition(".")[0])

    def derived(self, purpose: str) -> bytes:
        """A key for another purpose than sessions: signatures for one never count for the other."""
        return hmac.new(self._key, b"\0" + purpose.encode(), hashlib.sha256).digest()

    def _signature(self, head: str) -> str:
        return hmac.new(self._key, head.encode(errors="replace"), hashlib.sha256).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        # Slow, so that the password cannot be guessed by comparing signatures with that of a known session.
        return hashlib.scrypt(self._text, salt=_SALT, n=2**14, r=8, p=1, dklen=32)


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
