"""What is refused before a cluster is asked: a wrong address, a store that it cannot share, a password."""

from __future__ import annotations

import socket

import pytest

from conductor.errors import ClusterError
from studio.cluster.connection import connected, place, url_for_machines


@pytest.mark.parametrize(
    ("address", "expected"),
    [("10.0.0.5:6379", ("10.0.0.5", 6379)), ("head:1", ("head", 1)), ("[::1]:6379", ("::1", 6379))],
)
def test_an_address_is_a_host_and_a_port(address: str, expected: tuple[str, int]) -> None:
    assert place(address) == expected


@pytest.mark.parametrize(
    "address", ["", "auto", "head", "head:", ":6379", "head:0", "head:65536", "head:six", "ray://head:10001"]
)
def test_what_is_no_address_of_a_head_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ClusterError, match=r"HOST:PORT.*10\.0\.0\.5:6379"):
        place(address)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://me@db/studio", "postgresql://me@db/studio"),
        ("postgresql://me:secret@db/studio", None),
        ("postgresql://db/studio?user=me&password=secret", None),
        ("postgresql://db/studio?passfile=/etc/secret", None),
    ],
)
def test_a_url_with_a_password_is_not_sent_to_the_machines(url: str, expected: str | None) -> None:
    assert url_for_machines(url, from_command_line=False) == expected


def test_a_password_on_the_command_line_is_refused_without_being_repeated() -> None:
    with pytest.raises(ClusterError, match="CONDUCTOR_DATABASE_URL") as raised:
        url_for_machines("postgresql://me:marked@db/studio", from_command_line=True)
    assert "marked" not in str(raised.value)


def test_a_store_in_a_file_is_refused() -> None:
    with pytest.raises(ClusterError, match="PostgreSQL"):
        url_for_machines("sqlite:////tmp/studio.db", from_command_line=False)


def test_an_absent_cluster_is_named_with_what_starts_one_or_the_extra_that_is_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    expected = rf"127\.0\.0\.1:{port}.*ray start --head|pip install 'ray\[serve\]"
    with pytest.raises(ClusterError, match=expected), connected(f"127.0.0.1:{port}"):
        pytest.fail("nobody is there")
