"""Whose browser it is, and which machine: what a request's headers and address say of where it comes from.

Pure; knows no token. Guards what anybody on this machine may use against pages of other sites, which the
browser of somebody on this machine may have open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from conductor.api.errors import ApiError

HOSTS = "CONDUCTOR_API_HOSTS"
"""The environment variable with the names, separated by commas, that this server goes by."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:@/?#\[\]]+)(:[0-9]*)?")

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def configured_hosts() -> frozenset[str]:
    """The names in `CONDUCTOR_API_HOSTS`, in lower case."""
    named = os.environ.get(HOSTS, "").split(",")
    return frozenset(name.strip().lower().rstrip(".") for name in named if name.strip())


def check_origin(headers: Mapping[str, str], *, hosts: Collection[str]) -> None:
    """Raise `ApiError` for a page of another site, and for a name that is not this server's.

    `headers` have names in lower case. A page whose name was turned to this machine's address after it was
    loaded asks by that name; addresses cannot be turned so, and are let through.
    """
    host = headers.get("host", "")
    name = _name(host)
    if name is None or not (name == "localhost" or name in hosts or _address(name) is not None):
        raise ApiError(
            f"This server does not go by the name {host[:100]!r}. Ask it as localhost, by its address, or "
            f"have its owner add the name to {HOSTS}.",
            status=403,
            type="permission_error",
            code="host_not_allowed",
        )
    origin = headers.get("origin")
    foreign = origin is not None and not _is_own(origin, host)
    # Browsers say this also where they send no origin, as for a picture; "none" is a person's own doing.
    if foreign or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise ApiError(
            "Pages of other sites may not use this server from a browser; call it from a program, or from "
            "your own site's server.",
            status=403,
            type="permission_error",
            code="origin_not_allowed",
        )


def is_local(headers: Mapping[str, str], client: str | None) -> bool:
    """Whether a request comes from this machine, by itself and not through a proxy on it."""
    address = _address(client or "")
    if address is None or any(name in headers for name in _FORWARDED):
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _is_own(origin: str, host: str) -> bool:
    """Whether a page's origin is this server; its scheme may have been taken off by a proxy."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _name(host: str) -> str | None:
    """The name or address in a Host header, without its port; None where it is neither."""
    found = _HOST.fullmatch(host)
    return None if found is None else found[1].strip("[]").lower()


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
