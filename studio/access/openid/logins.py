"""The people who may log in by OpenID Connect, as the environment names them and their provider.

A session names its person. It ends when it expires or is closed, when the client's secret or the provider is
changed, and when the person may not log in any more. Knows settings and names; knows no request.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from conductor.errors import ServeError
from conductor.own_settings import setting
from conductor.values.note import MAX_AUTHOR
from conductor.workers.keys.secret import own_secret
from studio.access.errors import LoginError
from studio.access.origin_check import is_loopback
from studio.access.password import slow_key
from studio.access.signed_sessions import SignedSessions

ISSUER = "CONDUCTOR_OIDC_ISSUER"
CLIENT_ID = "CONDUCTOR_OIDC_CLIENT_ID"
CLIENT_SECRET = "CONDUCTOR_OIDC_CLIENT_SECRET"  # noqa: S105 - a variable's name
ALLOW = "CONDUCTOR_OIDC_ALLOW"
"""The environment variable with the addresses and domains of the people who may log in, or `EVERYBODY`."""

EVERYBODY = "*"
"""Every person whom the provider logs in."""

SESSION_SECONDS = 12 * 3600

_ENTRY = re.compile(r"([^@\s]+@|@)?[^@\s.*]+(\.[^@\s.*]+)*")


class People(SignedSessions):
    """Those whom the provider `issuer` may log in. `allow` are addresses, domains, and `EVERYBODY`.

    Raises `ServeError` for an issuer that is no https address, and for an entry that is none.
    """

    def __init__(
        self,
        issuer: str,
        *,
        client_id: str,
        client_secret: str,
        allow: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not is_protected(issuer) or set(issuer) & set("?#@"):
            raise ServeError(
                f"{ISSUER} is no address of a provider; write it as https://host or https://host/path."
            )
        self.issuer, self.client_id, self.client_secret = issuer.rstrip("/"), client_id, client_secret
        self.provider = urlsplit(issuer).netloc
        entries = [entry.strip().lower() for entry in allow.split(",")]
        faulty = [entry for entry in entries if entry != EVERYBODY and not _ENTRY.fullmatch(entry)]
        if faulty:
            raise ServeError(
                f"{ALLOW} has {faulty[0]!r}, which is no address; write addresses and domains, separated by "
                "commas, as in ada@example.org,example.com"
            )
        self._allow = {entry if entry == EVERYBODY or "@" in entry else f"@{entry}" for entry in entries}
        salt = f"conductor-studio people 1 {self.issuer} {client_id}".encode()
        super().__init__(slow_key(client_secret.encode(), salt=salt), seconds=SESSION_SECONDS, clock=clock)

    def read_session(self, session: str) -> str | None:
        """The person whose session it is; None for no session, and for one who may not log in any more."""
        person = super().read_session(session)
        return person if person and self._allows(person) else None

    def person(self, claims: Mapping[str, Any]) -> str:
        """The name of the person with these claims: the verified e-mail address, else the preferred user
        name, else the subject. Raises `LoginError` where they may not log in.
        """
        address, verified = claims.get("email"), claims.get("email_verified") in (True, "true")
        if isinstance(address, str) and address and verified:
            if not self._allows(address.lower()):
                raise LoginError(
                    f"{address} may not log in here. Ask the server's owner, who lists people in {ALLOW}."
                )
            name = _name(address.lower())
        elif EVERYBODY in self._allow:
            name = _name(claims.get("preferred_username")) or _name(claims["sub"])
        else:
            raise LoginError(
                f"{self.provider} names no verified e-mail address of yours, by which people log in here. "
                "Verify it there and log in again, or ask the owner of this server."
            )
        if not name:
            raise LoginError(
                f"{self.provider} gives you no name of one line with at most {MAX_AUTHOR} characters."
            )
        return name

    def _allows(self, address: str) -> bool:
        domain = "".join(address.rpartition("@")[1:])
        return not self._allow.isdisjoint((EVERYBODY, address, domain))


def configured_people() -> People | None:
    """The people of the environment; None without a provider.

    Raises `ServeError` for settings that are missing or wrong, `PoolError` where the secrets file has one.
    """
    values = {name: setting(name) or "" for name in (ISSUER, CLIENT_ID, ALLOW)}
    values[CLIENT_SECRET] = own_secret(CLIENT_SECRET) or ""
    missing = [name for name, value in values.items() if not value]
    if len(missing) == len(values):
        return None
    if missing:
        raise ServeError(
            f"People can log in only with all four settings of the provider; set {', '.join(missing)}, too."
        )
    return People(
        values[ISSUER],
        client_id=values[CLIENT_ID],
        client_secret=values[CLIENT_SECRET],
        allow=values[ALLOW],
    )


def is_protected(url: str) -> bool:
    """Whether what is sent there is read by no other: it is https, or on this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    here = parts.hostname == "localhost" or is_loopback(parts.hostname or "")
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and here))


def _name(text: object) -> str:
    """The text on one line, "" for one that is no name."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= MAX_AUTHOR and line.isprintable() else ""
