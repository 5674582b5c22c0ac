"""How far a server is open, as the environment sets it; contradictions are refused before it starts."""

from __future__ import annotations

import pytest

from conductor.errors import ServeError
from studio.access.exposure import configured_access, reaches_beyond, url_at
from studio.access.openid.logins import ALLOW, CLIENT_ID, CLIENT_SECRET, ISSUER, People


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


PROVIDER = {
    ISSUER: "https://login.example.org/",
    CLIENT_ID: "studio",
    CLIENT_SECRET: "a secret of the client",
    ALLOW: "ada@example.org, example.com",
}


def test_people_log_in_where_all_settings_of_their_provider_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in PROVIDER.items():
        monkeypatch.setenv(name, value)
    people = configured_access("0.0.0.0").logins
    assert isinstance(people, People)
    assert (people.issuer, people.provider) == ("https://login.example.org", "login.example.org")
    assert configured_access("0.0.0.0").editing_refusal is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *[({name: ""}, f"set {name}, too") for name in PROVIDER],
        ({ISSUER: "http://login.example.org"}, "no address of a provider"),
        ({ISSUER: "login.example.org"}, "no address of a provider"),
        ({ISSUER: "https://login.example.org?x=1"}, "no address of a provider"),
        ({ISSUER: "https://[login"}, "no address of a provider"),
        ({ISSUER: "https://me:secret@login.example.org"}, "no address of a provider"),
        ({ALLOW: "ada@example.org ben@example.org"}, "which is no address"),
        ({ALLOW: "*.example.org"}, "which is no address"),
        ({ALLOW: ","}, "which is no address"),
        ({"CONDUCTOR_PASSWORD": "correct horse battery"}, "not both"),
        ({"CONDUCTOR_API_OPEN": "1"}, "cannot be open"),
    ],
    ids=str,
)
def test_settings_of_a_provider_that_are_missing_or_wrong_are_named(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str], reason: str
) -> None:
    for name, value in {**PROVIDER, **change}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ServeError, match=reason) as raised:
        configured_access(None)
    assert PROVIDER[CLIENT_SECRET] not in str(raised.value)


def test_an_open_api_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not configured_access("127.0.0.1").api_open
    monkeypatch.setenv("CONDUCTOR_API_OPEN", "1")
    assert configured_access("127.0.0.1").api_open
    with pytest.raises(ServeError, match="cannot be open"):
        configured_access("0.0.0.0")
    monkeypatch.setenv("CONDUCTOR_API_HOSTS", "studio.example.org")
    with pytest.raises(ServeError, match="cannot be open"):
        configured_access("127.0.0.1")
