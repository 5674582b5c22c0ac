"""Decides which key may be sent to which host: by known pairs, the environment, or a person's consent.

Knows the names of variables, hosts and pool files, never a key. A pair counts only where a person has
confirmed it for that pool file: a person who can edit one could otherwise have any key sent to a host of
their own.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx

from conductor.errors import PoolError
from conductor.files.project_folder import own_pool_file
from conductor.own_settings import command_name, setting
from conductor.workers.keys.own_file import add_own_line, own_text
from conductor.workers.keys.services import HOSTED

HOSTS = "CONDUCTOR_KEY_HOSTS"
"""The environment variable that lists further pairs: NAME=HOST, separated by commas. A host without a scheme
is one of https."""

BASE_URL = "OPENAI_BASE_URL"
"""The environment variable that has the address which `OPENAI_API_KEY` is meant for, as OpenAI's own clients
read it; unset: OpenAI."""

_LOCAL_KEYS = ("CONDUCTOR_KEY", "VLLM_API_KEY")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class KeyHost(NamedTuple):
    """A variable that holds a key, the origin (scheme, host, and the port where it is not the usual), and the
    whole path of the pool file that names both, or "".
    """

    variable: str
    origin: str
    pool: str = ""

    @property
    def fault(self) -> str:
        return (
            f"{self.variable} is not confirmed for {self.origin}, so it is not sent there; confirm it on the "
            f"Pool page or by {command_name()} doctor --confirm-keys, or set "
            f"{HOSTS}={self.variable}={self.origin} before the program starts"
        )


def origin_of(url: str) -> str:
    """The origin of a URL, which is https where it has no scheme. Raises `httpx.InvalidURL`."""
    parsed = httpx.URL(url if "://" in url else f"https://{url}")
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def hosts_file() -> Path:
    """One confirmed pair a line, as NAME ORIGIN POOL, in this user's own configuration folder: no repository
    and no archive that is unpacked reaches it.
    """
    return own_pool_file().with_name("key-hosts.txt")


def is_known(variable: str, origin: str) -> bool:
    """Whether that is the key and the address of a known service, a local key and this machine, or a pair of
    `HOSTS`. Raises `PoolError` where those cannot be read.
    """
    local = variable in _LOCAL_KEYS and httpx.URL(origin).host in _LOOPBACK
    return local or (variable, origin) in _service_pairs() or (variable, origin) in _listed()


def is_confirmed(pair: KeyHost) -> bool:
    """Whether the key may be sent there. Raises `PoolError` where what was confirmed cannot be read."""
    if is_known(pair.variable, pair.origin):
        return True
    with suppress(httpx.InvalidURL):
        address = setting(BASE_URL)
        if pair.variable == "OPENAI_API_KEY" and address and origin_of(address) == pair.origin:
            return True
    return _line(pair) in own_text(hosts_file(), kind="a text file in UTF-8").splitlines()


def confirm(pair: KeyHost) -> None:
    """Let the key be sent there from now on. Raises `PoolError` where that cannot be written."""
    if not is_confirmed(pair):
        add_own_line(hosts_file(), _line(pair), once=True)


@cache
def _service_pairs() -> frozenset[tuple[str, str]]:
    """The hosts of the known services, and Together's earlier one."""
    pairs = ((service.api_key_env or "", origin_of(service.base_url)) for service in HOSTED)
    return frozenset((*pairs, ("TOGETHER_API_KEY", "https://api.together.xyz")))


def _line(pair: KeyHost) -> str:
    # A path may contain spaces and line ends.
    return f"{pair.variable} {pair.origin} {quote(pair.pool)}".rstrip()


def _listed() -> frozenset[tuple[str, str]]:
    """The pairs of `HOSTS`. Raises `PoolError` where an entry is no pair."""
    pairs = set()
    for entry in filter(None, map(str.strip, (setting(HOSTS) or "").split(","))):
        variable, _, host = entry.partition("=")
        try:
            origin = origin_of(host.strip()) if host.strip() else ""
        except httpx.InvalidURL:
            origin = ""
        if not origin:
            raise PoolError(
                f"{HOSTS} has an entry that is not a pair; write NAME=HOST, like "
                "OPENAI_API_KEY=https://api.openai.com, separated by commas."
            )
        pairs.add((variable.strip(), origin))
    return frozenset(pairs)
