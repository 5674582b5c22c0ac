"""How far a server is open, as the environment says; contradictions are refused before it starts."""

from __future__ import annotations

import pytest

from conductor.errors import ServeError
from studio.access.exposure import configured_access, reaches_beyond, url_at


@pytest.mark.parametrize(
    ("address", "beyond"),
    [
        (None, False),
        ("localhost", False),
        ("127.0.0.1", False),
        ("127.0.0.5", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("192.168.1.5", True),
        ("studio.example.org", True),
    ],
)
def test_only_loopback_is_not_reached_from_elsewhere(address: str | None, beyond: bool) -> None:
    assert reaches_beyond(address) is beyond


@pytest.mark.parametrize(
    ("host", "path", "url"),
    [
        ("localhost", "", "http://localhost:8501"),
        ("10.0.0.5", "/v1", "http://10.0.0.5:8501/v1"),
        ("::1", "/v1", "http://[::1]:8501/v1"),
    ],
)
def test_a_url_has_an_address_of_ipv6_in_brackets(host: str, path: str, url: str) -> None:
    assert url_at(host, 8501, path=path) == url


def test_an_open_api_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not configured_access("127.0.0.1").api_open
    monkeypatch.setenv("CONDUCTOR_API_OPEN", "1")
    assert configured_access("127.0.0.1").api_open
    with pytest.raises(ServeError, match="cannot be open"):
        configured_access("0.0.0.0")
    monkeypatch.setenv("CONDUCTOR_API_HOSTS", "studio.example.org")
    with pytest.raises(ServeError, match="cannot be open"):
        configured_access("127.0.0.1")
