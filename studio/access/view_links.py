"""View-only links: what one adds to a session's address, so that who has it may look at that session.

A link is signed with a key of the app's login, so nothing secret is stored; it lasts until the session's
links are revoked, or the login's password or secret is changed. Knows no request and no page.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

from conductor.errors import StorageError
from studio.access.signed_sessions import SignedSessions

PARAMETER = "view"
"""Its name in an address."""

OPEN = "1"
"""Its value where the app has no login: there it keeps a tab from changing anything, and admits no one."""

_SESSION = re.compile(r"[\w-]{1,64}", re.ASCII)


class ViewLinks:
    """`revoked` returns how often a session's links were revoked; it raises `StorageError` for an unknown
    session. Any thread may use it.
    """

    def __init__(self, logins: SignedSessions | None, revoked: Callable[[str], int]) -> None:
        self._logins, self._revoked = logins, revoked

    @property
    def signed(self) -> bool:
        """Whether a link admits people who may do nothing else."""
        return self._logins is not None

    def value(self, session: str) -> str:
        """The parameter of the session's link. Raises `StorageError` for an unknown session."""
        return OPEN if self._logins is None else self._signature(self._logins, session)

    def admits(self, session: str, value: str) -> bool:
        """Whether that is the value of the session's link now; of no link where the app has no login."""
        if self._logins is None or not _SESSION.fullmatch(session):
            return False
        try:
            own = self._signature(self._logins, session)
        except StorageError:
            return False
        return hmac.compare_digest(own.encode(), value.encode(errors="replace"))

    def _signature(self, logins: SignedSessions, session: str) -> str:
        key = logins.derived("view-only links")
        return hmac.new(key, f"{session} {self._revoked(session)}".encode(), hashlib.sha256).hexdigest()[:40]
