"""The way to an address: directly or through a proxy, and whose certificates are trusted.

Knows the environment's variables and their forms, as curl's manual describes them (`http_proxy`, `ALL_PROXY`,
`NO_PROXY`; `SSL_CERT_FILE` and `SSL_CERT_DIR` are OpenSSL's); opens no connection. httpx reads every proxy
before it looks at a host, so one faulty variable would end all requests: here only those that need it.
"""

from __future__ import annotations

import os
import re
import ssl
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies

import httpx

from conductor.errors import PoolError
from conductor.text.json_text import portable

_SCHEMES = {name: name for name in ("http", "https", "socks5", "socks5h")} | {"socks": "socks5"}
"""`socks` is what GNOME and VPN programs write; their servers know version 5."""

_SETTING = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*)://)?(?:(.*)@)?(.*)", re.DOTALL)
"""Scheme, account and the rest: a password may hold any character."""

_AUTHORITY = re.compile(
    r"((?!https?//)(?:\[[0-9A-Fa-f:.%]+\]|[^\s\[\]:;\"'/?#${}\\]+)(?::([0-9]{1,5}))?)(?:[/?#].*)?", re.DOTALL
)
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
"""The name that OpenSSL looks for in a folder of certificates."""

_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For connections without encryption: it has no certificates, so an encrypted one would be refused."""


class Route(NamedTuple):
    """How an address is reached: through `proxy`, which `variable` names, or directly."""

    proxy: httpx.Proxy | None = None
    variable: str = ""

    @property
    def through(self) -> str:
        """The proxy in words without its password, "" for a direct connection."""
        if self.proxy is None:
            return ""
        return f"the proxy {self.proxy.url.netloc.decode('ascii')} of {self.variable}"


DIRECT = Route()


def is_loopback(host: str) -> bool:
    """Whether connections to it stay on this machine, which is true of 0.0.0.0 as well."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def route_to(url: httpx.URL) -> Route:
    """The way to that address. Raises `PoolError` if the variable of its proxy is faulty."""
    settings = {} if is_loopback(url.host) else getproxies()
    kind = next((each for each in (url.scheme, "all") if _bare(settings.get(each, ""))), None)
    if kind is None or any(_names(entry, url) for entry in _exceptions(settings)):
        return DIRECT
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name)), "the system's settings")
    return Route(_proxy(variable, _bare(settings[kind])), variable)


def client_options(url: httpx.URL) -> dict[str, Any]:
    """httpx's own `proxy`, `verify` and `trust_env` for that address. Raises `PoolError` for a fault."""
    proxy = route_to(url).proxy
    encrypted = url.scheme == "https" or (proxy is not None and proxy.url.scheme == "https")
    return {"proxy": proxy, "verify": trusted() if encrypted else _NOBODY, "trust_env": False}


def environment_checks() -> dict[str, tuple[bool, str]]:
    """For `proxy` and `certificates`: whether their variables can be used, and a sentence about them."""
    checks = {}
    for check, words in (("proxy", _ways), ("certificates", _authorities)):
        try:
            checks[check] = (True, f"{words()}.")
        except PoolError as error:
            checks[check] = (False, str(error))
    return checks


def _ways() -> str:
    ways = {scheme: route_to(httpx.URL(f"{scheme}://host.invalid")).through for scheme in ("http", "https")}
    words = "; ".join(
        f"{scheme} goes {f'through {way}' if way else 'directly'}" for scheme, way in ways.items()
    )
    entries = _exceptions(getproxies()) if any(ways.values()) else ()
    return words + (f"; NO_PROXY names {_printable(', '.join(entries))}" if entries else "")


def _authorities() -> str:
    trusted()
    names = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if _bare(os.environ.get(name, ""))]
    return f"trusted are those of {names[0] if names else 'the package certifi'}"


def _bare(value: str) -> str:
    """A variable's value without blanks and the quotes that Docker's files of variables leave in it."""
    return value.strip().strip("\"'").strip()


def _printable(value: str) -> str:
    return portable("".join(letter if letter.isprintable() else "?" for letter in value[:100]))


def _proxy(variable: str, setting: str) -> httpx.Proxy:
    parts = _SETTING.fullmatch(setting)
    assert parts is not None, "each part may be empty"
    scheme, account, rest = parts.groups()
    user, _, password = (account or "").partition(":")
    kind, host = _SCHEMES.get((scheme or "http").lower()), _AUTHORITY.fullmatch(rest)
    fault = "it has no HOST:PORT with a port from 1 to 65535"
    if kind is None:
        fault = "its scheme is none of http, https, socks5 and socks5h"
    elif host is not None and 0 < int(host[2] or 1) < 65536:
        login = None if account is None else (unquote(user), unquote(password))
        try:
            proxy = httpx.Proxy(f"{kind}://{host[1]}", auth=login)
        except httpx.InvalidURL:
            fault = "its host cannot be read"
        else:
            proxy.ssl_context = trusted() if kind == "https" else None
            return proxy
    value = f"{f'{scheme}://' if scheme else ''}{'' if account is None else '***@'}{rest}"
    raise PoolError(
        f"{variable} names no proxy that can be used ({_printable(value)}): {fault}; write it as "
        "http://HOST:PORT, unset it, or name the address in NO_PROXY."
    )


def _exceptions(settings: dict[str, str]) -> list[str]:
    return [entry for entry in re.split(r"[\s,;|\"']+", settings.get("no", "")) if entry]


def _names(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of NO_PROXY names that address.

    Its forms: `*`, a host or a domain with or without `.` or `*.` before it, `127.*`, an address with or
    without brackets, a network such as 10.0.0.0/8, Windows' `<local>`; before it a scheme, after it a port.
    """
    scheme, separator, host = entry.lower().removesuffix("/").removesuffix(":*").rpartition("://")
    if separator and scheme not in ("all", url.scheme):
        return False
    if parts := re.fullmatch(r"\[(.+)\](?::(\d{1,5}))?|([^:]+):(\d{1,5})", host):
        host, port = parts[1] or parts[3], parts[2] or parts[4]
        if port and int(port) != (url.port or {"http": 80, "https": 443}[url.scheme]):
            return False
    name, domain = url.host.rstrip("."), host.strip(".").removeprefix("*.")
    try:
        return ip_address(name) in ip_network(host, strict=False)
    except ValueError:
        if host == "<local>":
            return "." not in name and ":" not in name
        return bool(domain) and (fnmatchcase(name, domain) or name.endswith(f".{domain}"))


def trusted() -> ssl.SSLContext:
    """The authorities that are trusted. Raises `PoolError` that names the variable which is faulty."""
    return _context(*(_bare(os.environ.get(name, "")) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")))


@cache
def _context(file: str, folder: str) -> ssl.SSLContext:
    """By the file, else by the folder. Reading the certificates takes as long as a hundred calls."""
    variable = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
    try:
        if file:
            Path(file).open("rb").close()
        elif folder and not any(map(_has_certificates, folder.split(os.pathsep))):
            raise FileNotFoundError(0, "it is no folder that `openssl rehash` has prepared")
        if not (file or folder):
            return httpx.create_ssl_context(trust_env=False)
        return ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    except OSError as error:
        fault = error.strerror or str(error)
        if isinstance(error, ssl.SSLError):
            fault = "it has no certificate in PEM"
        elif error.filename and error.filename == os.environ.get("SSLKEYLOGFILE"):
            variable = "SSLKEYLOGFILE"
        value = _printable(os.environ.get(variable, ""))
        raise PoolError(f"{variable} ({value}) cannot be used: {fault}; correct it, or unset it.") from error


def _has_certificates(folder: str) -> bool:
    path = Path(folder)
    return path.is_dir() and any(_HASHED.fullmatch(each.name) for each in path.iterdir())
