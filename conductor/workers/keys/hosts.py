"""Which key may be sent to which host: pairs that are known, listed in the environment, or confirmed.

Knows the names of variables and hosts, never a key. A pair counts only where a person has confirmed it: who
can edit a pool file could otherwise have any key sent to a host of their own.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path
from typing import NamedTuple

import httpx

from conductor.errors import PoolError
from conductor.workers.keys.services import HOSTED

HOSTS = "CONDUCTOR_KEY_HOSTS"
"""The environment variable that lists further pairs: NAME=HOST, separated by commas. A host without a scheme
is one of https."""

HOSTS_FILE = Path("data/key-hosts.txt")
"""One confirmed pair a line, as NAME ORIGIN. It counts only where no other user can write it, as `confirm`
creates it: a file that came with another person's folder, as by git, does not count."""

_LOCAL_KEYS = ("CONDUCTOR_KEY", "VLLM_API_KEY")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_writing = threading.Lock()


class KeyHost(NamedTuple):
    """A variable that holds a key, and the origin (scheme, host, and the port where it is not the usual)."""

    variable: str
    origin: str

    @property
    def fault(self) -> str:
        return (
            f"{self.variable} is not confirmed for {self.origin}, so it is not sent there; confirm it on the "
            "Pool page or by python -m conductor doctor --confirm-keys, or set "
            f"{HOSTS}={self.variable}={self.origin} before the program starts"
        )


def origin_of(url: str) -> str:
    """The origin of a URL, which is https where it has no scheme. Raises `httpx.InvalidURL`."""
    parsed = httpx.URL(url if "://" in url else f"https://{url}")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def is_confirmed(pair: KeyHost) -> bool:
    """Whether the key may be sent there. Raises `PoolError` where what was confirmed cannot be read."""
    if pair in _known():
        return True
    if pair.variable in _LOCAL_KEYS and httpx.URL(pair.origin).host in _LOOPBACK:
        return True
    return pair in _listed() or _line(pair) in _confirmed().splitlines()


def confirm(pair: KeyHost) -> None:
    """Let the key be sent there from now on. Raises `PoolError` where that cannot be written."""
    with _writing:
        if is_confirmed(pair):
            return
        before = _confirmed()
        gap = "" if before.endswith("\n") or not before else "\n"
        try:
            HOSTS_FILE.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(HOSTS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as lines:
                lines.write(f"{gap}{_line(pair)}\n")
        except OSError as error:
            raise PoolError(f"{HOSTS_FILE} cannot be written: {error.strerror}.") from error


@cache
def _known() -> frozenset[KeyHost]:
    """The hosts of the known services, and Together's earlier one."""
    known = (KeyHost(service.api_key_env or "", origin_of(service.base_url)) for service in HOSTED)
    return frozenset((*known, KeyHost("TOGETHER_API_KEY", "https://api.together.xyz")))


def _line(pair: KeyHost) -> str:
    return f"{pair.variable} {pair.origin}"


def _confirmed() -> str:
    """The file's text, "" where there is no file. Raises `PoolError`."""
    try:
        with HOSTS_FILE.open(encoding="utf-8") as file:
            if hasattr(os, "geteuid"):
                state = os.fstat(file.fileno())
                if state.st_uid != os.geteuid() or state.st_mode & 0o077:
                    raise PoolError(
                        f"{HOSTS_FILE} is not yours alone (mode 600), so what it confirms does not count; "
                        "delete it, and confirm each host again."
                    )
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise PoolError(f"{HOSTS_FILE} cannot be read: it must be a text file in UTF-8.") from error


def _listed() -> frozenset[KeyHost]:
    """The pairs of the environment. Raises `PoolError` where an entry is no pair."""
    pairs = set()
    for entry in filter(None, map(str.strip, os.environ.get(HOSTS, "").split(","))):
        variable, _, host = entry.partition("=")
        try:
            origin = origin_of(host.strip()) if host.strip() else ""
        except httpx.InvalidURL:
            origin = ""
        if not origin:
            raise PoolError(
                f"{HOSTS} has an entry that is no pair; write NAME=HOST, like "
                "OPENAI_API_KEY=https://api.openai.com, separated by commas."
            )
        pairs.add(KeyHost(variable.strip(), origin))
    return frozenset(pairs)
