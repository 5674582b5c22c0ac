"""What the tests of the client cannot see: that the faults on the wire are those of their names."""

from __future__ import annotations

import httpx
import pytest

from . import Served


def arrived(served: Served, model: str) -> tuple[list[bytes], httpx.HTTPError | None]:
    """The chunks of a stream, and the error that ended it."""
    body = {"model": model, "messages": [{"role": "user", "content": "?"}], "stream": True}
    pieces: list[bytes] = []
    with httpx.Client(base_url=served.base_url, timeout=10) as client:
        try:
            with client.stream("POST", "chat/completions", json=body) as response:
                pieces.extend(response.iter_raw())
        except httpx.HTTPError as error:
            return pieces, error
    return pieces, None


@pytest.mark.parametrize(
    ("fault", "error", "outcome"),
    [
        ("reset-before-first-byte", httpx.ReadError, "reset"),
        ("reset-mid-stream", httpx.ReadError, "reset"),
        ("hang-up", httpx.RemoteProtocolError, "hung-up"),
    ],
)
def test_a_reset_is_a_reset_and_a_hang_up_an_orderly_end_inside_the_body(
    fake_openai: Served, fault: str, error: type[httpx.HTTPError], outcome: str
) -> None:
    pieces, ended = arrived(fake_openai, f"fault:{fault}")
    assert type(ended) is error
    assert ("reset" in str(ended)) == (outcome == "reset")
    assert bool(pieces) == (fault != "reset-before-first-byte")
    assert fake_openai.settled().outcome == outcome


def test_a_ragged_stream_is_cut_inside_a_character(fake_openai: Served) -> None:
    pieces, ended = arrived(fake_openai, "fault:ragged-sse")
    assert ended is None
    assert max(map(len, pieces)) == 7
    assert any(piece.endswith("№".encode()[:1]) for piece in pieces)


def test_an_early_end_of_the_body_is_no_error_of_the_protocol(fake_openai: Served) -> None:
    pieces, ended = arrived(fake_openai, "fault:early-close")
    assert ended is None
    assert pieces
    assert b"[DONE]" not in b"".join(pieces)
