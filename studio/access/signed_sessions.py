"""Sessions of browsers that logged in: signed texts, which they hold as cookies.

A session outlives a restart of the server, and ends when it expires, is closed, or the key is another one.
All processes with one key take each other's. Knows no request.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import cached_property


class SignedSessions:
    """Sessions of `seconds`. `make_key` is called once, at the first use, as it may be slow.

    Used in one event loop; `clock` is in Unix seconds.
    """

    def __init__(self, make_key: Callable[[], bytes], *, seconds: int, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._make_key = make_key
        self.clock = clock
        self._closed: dict[str, int] = {}

    def open_session(self, text: str = "") -> str:
        """A new session, which names `text`, such as a person."""
        head = f"{int(self.clock()) + self.seconds}.{secrets.token_urlsafe(16)}"
        if text:
            # Hexadecimal: a cookie has "=" only in quotes.
            head += f".{text.encode().hex()}"
        return f"{head}.{self._signature(head)}"

    def read_session(self, session: str) -> str | None:
        """What a session names, "" for nothing; None for a text that is none which has not ended."""
        head, _, signature = session.rpartition(".")
        if not hmac.compare_digest(self._signature(head).encode(), signature.encode(errors="replace")):
            return None
        end, _, *text = head.split(".")
        if int(end) <= self.clock() or head in self._closed:
            return None
        return bytes.fromhex("".join(text)).decode()

    def admits(self, session: str) -> bool:
        """Whether that is a session of these which has not ended."""
        return self.read_session(session) is not None

    def close_session(self, session: str) -> None:
        """End one session that is admitted, in this process only."""
        now = self.clock()
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
        return self._make_key()
