"""The exposure of a server: its host names, who logs in to the app, and whether its API requires a token.

Read once from the environment when a server starts. Knows settings; knows no request.
"""

from __future__ import annotations

from dataclasses import dataclass

from conductor.errors import ServeError
from conductor.own_settings import setting
from conductor.workers.keys.secret import own_secret
from studio.access.openid.logins import ISSUER, People, configured_people
from studio.access.origin_check import HOSTS, configured_hosts, is_loopback
from studio.access.password import SETTING, Password

OPEN = "CONDUCTOR_API_OPEN"
"""The environment variable that, set to 1, opens the API to programs on this machine without a token."""

KEEPS_UNSTORED = "CONDUCTOR_KEEPS_UNSTORED"
"""The environment variable that, set to 1, has requests with this machine's token stored in every case."""

PATH = "/v1"
"""Where the API is mounted."""

HEALTH = "/_stcore/health"
"""Where Streamlit answers whether the app is there."""

LIVE = "/healthz"
"""Where a server answers that its process lives."""

READY = "/readyz"
"""Where a server answers whether it can take requests: its store and its pool can be used."""

METRICS = "/metrics"
"""Where a server's metrics are, for users of its API."""

EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - a URL has another host in its place
"""A server that listens there listens at every address of its machine."""


@dataclass(frozen=True)
class Access:
    """`hosts` are the names of the server beside localhost and addresses; `logins` are by the app's password
    or those of people whom a provider names, None if it has neither. With `api_open`, programs on this
    machine need no token.
    """

    hosts: frozenset[str] = frozenset()
    logins: Password | People | None = None
    api_open: bool = False

    @property
    def editing_refusal(self) -> str | None:
        """Why the pool and the tokens cannot be changed in the app, or None.

        Without a login the server answers only this machine. But a server with other names is reached
        through a proxy, and requests through a proxy on this machine seem to come from this machine.
        """
        if self.logins is not None or not self.hosts:
            return None
        names = ", ".join(sorted(self.hosts))
        return (
            f"The pool and its tokens cannot be changed here: this server also goes by {names} and has no "
            f"password, so any person may reach it. Set {SETTING} and start it again."
        )


def configured_access(*listening: str | None) -> Access:
    """The settings of the environment, for a server that listens at these addresses.

    Raises `ServeError` for a password that is too short or stands beside a provider, for wrong settings of a
    provider, and for an open API that could be reached from elsewhere, `PoolError` where the secrets file
    cannot be read or sets a secret of these.
    """
    text, people = own_secret(SETTING), configured_people()
    if text is not None and people is not None:
        raise ServeError(
            f"The app has one password for all or people with names, not both: unset {SETTING}, or {ISSUER} "
            "and the other settings of the provider."
        )
    access = Access(
        hosts=configured_hosts(*listening),
        logins=people if text is None else Password(text),
        api_open=setting(OPEN) == "1",
    )
    reached = access.hosts or access.logins is not None or any(map(reaches_beyond, listening))
    if access.api_open and reached:
        raise ServeError(
            f"The API cannot be open where other machines may reach the server; leave --host, {HOSTS}, "
            f"{ISSUER} and {SETTING} out, or leave --api-open and {OPEN} out."
        )
    return access


def url_at(host: str, port: int, *, path: str = "") -> str:
    """The URL of what listens at this host, a name or an address, and port."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def reaches_beyond(listening: str | None) -> bool:
    """Whether a server that listens at this address or name may be reached from other machines."""
    return listening is not None and listening != "localhost" and not is_loopback(listening)
