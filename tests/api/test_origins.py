"""Where requests come from: pages of other sites and foreign names are refused, programs are not."""

from __future__ import annotations

import pytest

from conductor.api.errors import ApiError
from conductor.api.origins import check_origin, configured_hosts, is_local

HOSTS = frozenset({"conductor.example.org"})


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8501"},
        {"host": "LOCALHOST"},
        {"host": "127.0.0.1:8501"},
        {"host": "[::1]:8501"},
        {"host": "192.168.1.5:8501"},
        {"host": "conductor.example.org"},
        {"host": "localhost:8501", "origin": "http://localhost:8501", "sec-fetch-site": "same-origin"},
        {"host": "conductor.example.org", "origin": "https://conductor.example.org"},
        {"host": "localhost:8501", "sec-fetch-site": "none"},
    ],
)
def test_programs_and_own_pages_are_let_through(headers: dict[str, str]) -> None:
    check_origin(headers, hosts=HOSTS)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "host_not_allowed"),
        ({"host": ""}, "host_not_allowed"),
        ({"host": "evil.example.org:8501"}, "host_not_allowed"),
        ({"host": "localhost.evil.example.org"}, "host_not_allowed"),
        ({"host": "127.0.0.1.evil.example.org"}, "host_not_allowed"),
        ({"host": "evil.example.org@localhost:8501x"}, "host_not_allowed"),
        ({"host": "[::1"}, "host_not_allowed"),
        ({"host": "localhost:8501", "origin": "https://evil.example.org"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://localhost:3000"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "null"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": ""}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "file://localhost:8501"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "origin": "http://[::1"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "sec-fetch-site": "cross-site"}, "origin_not_allowed"),
        ({"host": "localhost:8501", "sec-fetch-site": "same-site"}, "origin_not_allowed"),
    ],
)
def test_pages_of_others_and_other_names_are_refused(headers: dict[str, str], code: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_origin(headers, hosts=HOSTS)
    assert (refused.value.status, refused.value.code) == (403, code)


@pytest.mark.parametrize(
    ("client", "headers", "local"),
    [
        ("127.0.0.1", {}, True),
        ("127.8.8.8", {}, True),
        ("::1", {}, True),
        ("::ffff:127.0.0.1", {}, True),
        ("192.168.1.5", {}, False),
        ("::ffff:192.168.1.5", {}, False),
        ("localhost", {}, False),
        (None, {}, False),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.9"}, False),
        ("127.0.0.1", {"forwarded": "for=203.0.113.9"}, False),
    ],
)
def test_only_a_request_from_here_that_no_proxy_brings_is_local(
    client: str | None, headers: dict[str, str], local: bool
) -> None:
    assert is_local(headers, client) is local


def test_the_servers_own_names_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_API_HOSTS", " Conductor.example.org. , ,studio.local")
    assert configured_hosts() == {"conductor.example.org", "studio.local"}
    monkeypatch.delenv("CONDUCTOR_API_HOSTS")
    assert configured_hosts() == set()
