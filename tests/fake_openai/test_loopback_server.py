"""The endpoint on its socket: where it listens, and that small pieces leave at once."""

from __future__ import annotations

import socket

import httpx
import pytest
from asking import Asking
from fake_openai_server import Served, serving

from conductor.errors import ConductorError
from conductor.fake_openai.app import FakeOpenAI
from conductor.fake_openai.server import FakeServer


def test_small_pieces_are_not_held_back(fake_openai: Served, asking: Asking) -> None:
    assert asking.said()
    for connection in fake_openai.server.server_state.connections:
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        return
    pytest.fail("the client's connection is kept alive")


def test_it_listens_as_soon_as_it_exists() -> None:
    server = FakeServer(FakeOpenAI())
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5):
            assert server.base_url == f"http://127.0.0.1:{server.port}/v1"
    finally:
        server.close()


def test_a_taken_port_is_named() -> None:
    first = FakeServer(FakeOpenAI())
    try:
        with pytest.raises(ConductorError, match=f"127.0.0.1:{first.port} cannot be listened to"):
            FakeServer(FakeOpenAI(), port=first.port)
    finally:
        first.close()


def test_the_port_is_free_again_after_it_stopped() -> None:
    with serving(FakeOpenAI()) as served, httpx.Client() as client:
        assert client.get(f"{served.root_url}/health").status_code == 200
    again = FakeServer(FakeOpenAI(), port=served.server.port)
    again.close()


def test_a_forwarded_address_confuses_no_reset(fake_openai: Served, asking: Asking) -> None:
    asking.client.headers["x-forwarded-for"] = "10.0.0.1"
    with pytest.raises(httpx.ReadError):
        asking.post(model="fault:reset-before-first-byte")
    assert fake_openai.settled().outcome == "reset"
