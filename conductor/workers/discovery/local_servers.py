"""The servers of models that listen on this machine, each with its list.

Asks the loopback address alone, without a key, without a proxy and for a fraction of a second; a `Finder`
asks in a background loop and remembers for a moment what was found.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any, NamedTuple

import httpx

from conductor.errors import PoolError
from conductor.own_settings import setting
from conductor.text.bounded_value import json_value
from conductor.workers.endpoint.catalogue import ServedModel, read_catalogue
from conductor.workers.keys.mask import NO_KEYS
from conductor.workers.keys.services import LOCAL

PORTS = "CONDUCTOR_LOCAL_PORTS"
"""The environment variable that lists, separated by commas, the ports where models are looked for in place of
the usual ones. Empty: nowhere.
"""

SECONDS = 0.5
"""How long a server may take to send its list."""

_MAX_BYTES = 1_000_000
_LLAMA = "llamacpp"
_OWNERS = {"library": "Ollama", _LLAMA: "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
"""What servers write as the owner of their models."""


class LocalServer(NamedTuple):
    """A server on this machine that listed its models."""

    name: str
    base_url: str
    models: tuple[ServedModel, ...]


async def local_servers() -> tuple[LocalServer, ...]:
    """Those that answer now, in the order of the ports. Raises `PoolError` where the ports cannot be read."""
    ports = listed_ports()
    # Nothing is encrypted on the loopback address; reading the certificates would take longer than asking.
    async with httpx.AsyncClient(
        trust_env=False,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        headers={"Accept-Encoding": "identity"},
    ) as client:
        answers = await asyncio.gather(*(_server_at(client, port) for port in ports))
    return tuple(server for server in answers if server is not None)


def listed_ports() -> tuple[int, ...]:
    """The ports where models are looked for. Raises `PoolError` where the environment's cannot be read."""
    if (listed := setting(PORTS)) is None:
        return tuple(LOCAL)
    entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
    if not all(entry.isascii() and entry.isdigit() and 0 < int(entry[:6]) < 65536 for entry in entries):
        raise PoolError(f"{PORTS} has an entry that is not a port; write numbers separated by commas.")
    return tuple(dict.fromkeys(map(int, entries)))


async def _server_at(client: httpx.AsyncClient, port: int) -> LocalServer | None:
    """The server at that port, or None if no list of models comes in time."""
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        models = read_catalogue(await _body(client, f"{base_url}/models"), NO_KEYS)
    except (TimeoutError, httpx.HTTPError, ValueError):
        # Whatever else listens there is no server of models.
        return None
    if any(model.owner == _LLAMA for model in models):
        context = await _slot_context(client, port)
        models = tuple(model.model_copy(update={"context": model.context or context}) for model in models)
    return LocalServer(_name(port, models), base_url, models) if models else None


async def _slot_context(client: httpx.AsyncClient, port: int) -> int | None:
    """The tokens of one request to llama.cpp, whose list has those of all its slots; None if unknown."""
    try:
        properties = json_value(await _body(client, f"http://127.0.0.1:{port}/props"))
        size = properties["default_generation_settings"]["n_ctx"]
    except (TimeoutError, httpx.HTTPError, ValueError, LookupError, TypeError):
        return None
    return size if type(size) is int and size > 0 else None


async def _body(client: httpx.AsyncClient, url: str) -> bytes:
    """What is there. Raises `ValueError` where it is no plain answer, `TimeoutError`, and httpx's errors."""
    async with asyncio.timeout(SECONDS), client.stream("GET", url) as response:
        if response.status_code != 200 or response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("no plain answer")
        body = b""
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > _MAX_BYTES:
                raise ValueError("too long")
    return body


def _name(port: int, models: tuple[ServedModel, ...]) -> str:
    owners = (_OWNERS.get(model.owner or "") for model in models)
    owner = next(filter(None, owners), None)
    return owner or (LOCAL[port].name if port in LOCAL else f"Port {port}")


# -- what was found a moment ago ----------------------------------------------------------------------

FRESH_SECONDS = 10.0
"""What was found so recently is not looked for again."""

_Servers = tuple[LocalServer, ...]
Spawn = Callable[[Coroutine[Any, Any, _Servers]], Future[_Servers]]
"""Begins a coroutine in the loop, from any thread."""


class Finder:
    """One a process; its pages share what is found. Safe in several threads."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._looking: Future[_Servers] | None = None
        self._last: Future[_Servers] | None = None

    def look(self, *, wait: float) -> tuple[LocalServer, ...]:
        """The servers as of a moment ago, after at most `wait` seconds.

        `looking` is true where they are not all known yet. Raises `PoolError` where the ports cannot be read.
        """
        with self._lock:
            if self._looking is None and time.monotonic() - self._looked_at > FRESH_SECONDS:
                self._looked_at = time.monotonic()
                self._looking = self._spawn(local_servers())
            looking = self._looking
        if looking is not None:
            wait_for([looking], wait)
            if looking.done():
                self._last, self._looking = looking, None
        if self._last is None:
            return ()
        if (error := self._last.exception()) is not None:
            raise error.with_traceback(None)
        return self._last.result()

    @property
    def looking(self) -> bool:
        return self._looking is not None
