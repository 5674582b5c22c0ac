"""Proxies and certificates: who connects, whom it trusts, and what is reported where a proxy refuses."""

from __future__ import annotations

import asyncio
import gc
import re
import warnings
from contextlib import suppress

import pytest

from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.transport import route
from conductor.workers.endpoint.transport.direct import DirectTransport
from conductor.workers.endpoint.transport.http_connections import Connections
from tests.support.endpoints.chat_cases import endpoint

MODELS = b'HTTP/1.1 200 OK\r\ncontent-length: 27\r\n\r\n{"data": [{"id": "alpha"}]}'
GREETING, GRANTED = b"\x05\x00", b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x09"
"""What a server of SOCKS 5 answers to a greeting, and to a request to connect (RFC 1928)."""


@pytest.mark.parametrize(
    ("address", "direct"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://far.example:1/v1", False),
    ],
)
async def test_a_proxy_is_for_other_machines_alone(
    monkeypatch: pytest.MonkeyPatch, address: str, direct: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    connected = Connections(endpoint(address))
    opened = await connected.client()
    assert isinstance(opened._transport, DirectTransport) is direct
    await connected.aclose()


@pytest.mark.parametrize(("address", "trusts"), [("http://127.0.0.1:1/v1", 0), ("HTTPS://127.0.0.1:1/v1", 1)])
async def test_certificates_are_read_for_an_encrypted_endpoint_alone(address: str, trusts: int) -> None:
    route._context.cache_clear()
    connected = Connections(endpoint(address))
    await connected.client()
    await connected.aclose()
    assert route._context.cache_info().misses == trusts


async def _listed(
    patch: pytest.MonkeyPatch, variable: str, address: str, replies: list[bytes]
) -> tuple[str, list[bytes]]:
    """The model that a far endpoint lists through a proxy with these replies, or why it lists none, and what
    the proxy was sent.
    """
    sent: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            sent.append(await reader.read(4096))
            writer.write(reply)
        with suppress(ConnectionError):
            await writer.drain()
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        name, value = variable.split("=")
        patch.setenv(name, value.replace("PORT", str(port)))
        client = ChatClient(endpoint(address), name="w")
        try:
            listed = " ".join(model.name for model in await client.served())
        except EndpointFailure as failure:
            listed = re.sub(rf"\b{port}\b", "PORT", str(failure))
        await client.aclose()
    with warnings.catch_warnings():
        # httpcore leaves a connection open where a server of SOCKS refuses.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    return listed, sent


@pytest.mark.parametrize(
    ("variable", "address", "replies", "listed", "sent"),
    [
        ("HTTP_PROXY=http://127.0.0.1:PORT", "http://far.example/v1", [MODELS], "alpha", b"GET http://far"),
        (
            "HTTP_PROXY=127.0.0.1:PORT",
            "http://far.example/v1",
            [b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"],
            "w: far.example answered 407 Proxy Authentication Required; write its user and password into the "
            "variable of the proxy, as http://USER:PASSWORD@HOST:PORT.",
            b"GET http://far",
        ),
        (
            "ALL_PROXY=http://user:secret@127.0.0.1:PORT",
            "https://far.example/v1",
            [b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"],
            "w: far.example cannot be reached through the proxy 127.0.0.1:PORT of ALL_PROXY (407 Proxy "
            "Authentication Required); check ALL_PROXY and base_url in the pool file, or name its host in "
            "NO_PROXY.",
            b"CONNECT far.example:443",
        ),
        (
            "HTTPS_PROXY=http://127.0.0.1:9",
            "https://far.example/v1",
            [],
            "w: far.example cannot be reached through the proxy 127.0.0.1:9 of HTTPS_PROXY (All connection "
            "attempts failed); check HTTPS_PROXY and base_url in the pool file, or name its host in "
            "NO_PROXY.",
            b"",
        ),
        (
            "ALL_PROXY=socks://127.0.0.1:PORT",
            "http://far.example/v1",
            [GREETING, GRANTED, MODELS],
            "alpha",
            b"\x05\x01\x00\x03\x0bfar.example",
        ),
        (
            "ALL_PROXY=socks5h://127.0.0.1:PORT",
            "http://far.example/v1",
            [GREETING, b"\x05\x02" + GRANTED[2:]],
            "w: far.example cannot be reached through the proxy 127.0.0.1:PORT of ALL_PROXY (Proxy Server "
            "could not connect: Connection not allowed by ruleset.); check ALL_PROXY and base_url in the "
            "pool file, or name its host in NO_PROXY.",
            b"\x05\x01\x00\x03\x0bfar.example",
        ),
        (
            "HTTPS_PROXY=socks4://127.0.0.1:PORT",
            "https://far.example/v1",
            [],
            "w: far.example cannot be reached: HTTPS_PROXY names no proxy that can be used "
            "(socks4://127.0.0.1:PORT): its scheme is none of http, https, socks5 and socks5h; write it as "
            "http://HOST:PORT, unset it, or name the address in NO_PROXY.",
            b"",
        ),
    ],
)
async def test_a_proxy_is_used_and_named_where_it_refuses(
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    address: str,
    replies: list[bytes],
    *,
    listed: str,
    sent: bytes,
) -> None:
    words, requests = await _listed(monkeypatch, variable, address, replies)
    assert words == listed
    assert sent in b"".join(requests)
