"""Every misbehaviour is what its name says, as seen by a plain HTTP client and by the server's log."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
from asking import Asking, Heard, heard
from fake_openai_server import Served

from conductor.fake_openai.faults import FAULTS


def broken_stream(asking: Asking, error: type[Exception], **body: Any) -> str:
    """What arrived of a stream before it broke with `error`."""
    pieces: list[str] = []
    with asking.client.stream("POST", "chat/completions", json=asking.body(stream=True, **body)) as response:
        arriving = response.iter_text()
        # What extends a list stays in it when the rest does not come.
        with pytest.raises(error):
            pieces.extend(arriving)
    return "".join(pieces)


def first_half(arrived: str, whole: str) -> str:
    """The text of the complete events in `arrived`, which must begin `whole` and not be all of it."""
    text = heard(arrived.rpartition("\n\n")[0]).joined()
    assert text
    assert whole.startswith(text)
    assert len(text) < len(whole)
    return text


# -- the way a fault is chosen -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({"model": "fault:empty"}, ("empty",)),
        ({"fault": "empty"}, ("empty",)),
        ({"fault": ["empty", "no-usage"]}, ("empty", "no-usage")),
        ({"model": "fault:empty+no-usage"}, ("empty", "no-usage")),
        ({"model": "fault:empty", "fault": "no-usage"}, ("empty", "no-usage")),
    ],
)
def test_faults_are_chosen_by_the_model_and_beside_it(
    asking: Asking, fake_openai: Served, body: dict[str, Any], faults: tuple[str, ...]
) -> None:
    answered = asking.post(**body).json()
    assert answered["choices"][0]["message"]["content"] == ""
    assert ("usage" not in answered) == ("no-usage" in faults)
    assert fake_openai.settled().faults == faults


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("nonsense", "there are slow-first-token"),
        ("empty=3", "takes no value"),
        ("unknown-parameter", "needs a value"),
        ("stall=soon", "takes a number"),
        ("huge=1e9", "takes a number"),
        ("stall=nan", "takes a number"),
    ],
)
def test_a_fault_that_is_none_is_refused(asking: Asking, fault: str, reason: str) -> None:
    for response in (asking.post(model=f"fault:{fault}"), asking.post(fault=fault)):
        assert (response.status_code, response.json()["error"]["param"]) == (400, "fault")
        assert reason in response.json()["error"]["message"]


def test_every_fault_does_exactly_one_kind_of_thing() -> None:
    for fault in FAULTS.values():
        assert sum(part is not None for part in (fault.refuse, fault.change, fault.spoil)) == 1, fault


# -- instead of an answer ----------------------------------------------------------------------------


def test_a_rate_limit_comes_so_often_and_then_again_after_an_answer(asking: Asking) -> None:
    statuses = [asking.post(fault="rate-limited=2") for _ in range(4)]
    assert [response.status_code for response in statuses] == [429, 429, 200, 429]
    assert all("retry-after" not in response.headers for response in statuses)
    assert statuses[0].json()["error"]["code"] == "rate_limit_exceeded"


def test_equal_requests_share_a_count_and_others_have_their_own(asking: Asking) -> None:
    assert asking.post(fault="error-500-then-200").status_code == 500
    assert asking.post("Another?", fault="error-500-then-200").status_code == 500
    assert asking.post("Another?", fault="error-500-then-200").status_code == 200
    assert asking.post(fault="error-500-then-200").status_code == 200


def test_a_rate_limit_may_say_when_to_come_back(asking: Asking) -> None:
    first, second = (asking.post(fault="rate-limited-retry-after=3") for _ in range(2))
    assert (first.status_code, first.headers["retry-after"], second.status_code) == (429, "3", 200)
    first, second = (asking.post(fault="rate-limited-retry-date=600") for _ in range(2))
    ahead = parsedate_to_datetime(first.headers["retry-after"]) - datetime.now(UTC)
    assert (first.status_code, second.status_code) == (429, 200)
    assert 500 < ahead.total_seconds() <= 600


@pytest.mark.parametrize(
    ("fault", "status", "type"),
    [
        ("error-500", 500, "server_error"),
        ("bad-request-400", 400, "invalid_request_error"),
        ("unauthorized-401", 401, "invalid_request_error"),
    ],
)
def test_some_errors_never_go_away(asking: Asking, fault: str, status: int, type: str) -> None:
    for stream in (False, True, False):
        response = asking.post(model=f"fault:{fault}", stream=stream)
        assert (response.status_code, response.json()["error"]["type"]) == (status, type)


def test_a_leaking_error_repeats_the_header_and_the_log_does_not(asking: Asking, fake_openai: Served) -> None:
    asking.client.headers["authorization"] = "Bearer sk-marked"
    assert "Bearer sk-marked" in asking.post(model="fault:leaky-401").json()["error"]["message"]
    entry = fake_openai.settled()
    assert entry.authorization_sent
    assert "sk-marked" not in httpx.get(f"{fake_openai.root_url}/log").text + repr(entry)


def test_an_unknown_parameter_is_refused_only_where_it_is_sent(asking: Asking) -> None:
    model = "fault:unknown-parameter=response_format+unknown-parameter=structured_outputs"
    assert asking.said(model=model)
    for sent in ({"response_format": {"type": "text"}}, {"structured_outputs": {"regex": "a"}}):
        [name] = sent
        error = asking.post(model=model, **sent).json()["error"]
        assert (error["param"], error["code"]) == (name, "unknown_parameter")
        assert error["message"] == f"Unknown parameter: '{name}'."


def test_a_page_may_come_with_status_200(asking: Asking) -> None:
    response = asking.post(model="fault:wrong-content-type", stream=True)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert response.text.startswith("<!doctype html>")


# -- a spoiled answer --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["simulated", "reasoning-simulated"])
def test_an_empty_answer_ends_as_if_all_were_well(asking: Asking, model: str) -> None:
    stream = asking.stream(model=model, fault="empty", stream_options={"include_usage": True})
    assert (stream.joined(), stream.finish_reason, stream.done) == ("", "stop", True)
    assert stream.usage is not None
    assert stream.usage["completion_tokens"] == 0
    assert asking.said(model=model, fault="empty") == ""


def test_usage_may_be_missing_where_it_was_asked_for(asking: Asking) -> None:
    stream = asking.stream(fault="no-usage", stream_options={"include_usage": True})
    assert stream.joined() == asking.said()
    assert all("usage" not in event for event in stream.events)
    assert "usage" not in asking.post(fault="no-usage").json()


@pytest.mark.slow
def test_a_huge_answer_has_its_size(asking: Asking) -> None:
    stream = asking.stream(fault="huge", max_tokens=5)
    assert (len(stream.joined()), stream.finish_reason, stream.done) == (10_000_000, "stop", True)
    assert len(asking.said(fault="huge=0.5")) == 500_000


def test_tools_are_called_that_nobody_offered(asking: Asking) -> None:
    stream = asking.stream(fault="tool-calls")
    calls = [call for delta in stream.deltas for call in delta.get("tool_calls", ())]
    assert (stream.joined(), stream.finish_reason, calls[0]["function"]["name"]) == (
        "",
        "tool_calls",
        "look_up",
    )
    arguments = "".join(call["function"]["arguments"] for call in calls)
    message = asking.post(fault="tool-calls").json()["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"][0]["function"]["arguments"] == arguments
    assert json.loads(arguments)


@pytest.mark.parametrize(("fault", "reason"), [("length", "length"), ("content-filter", "content_filter")])
def test_half_an_answer_says_why(asking: Asking, fault: str, reason: str) -> None:
    whole, stream = asking.said(), asking.stream(fault=fault)
    assert (stream.finish_reason, stream.done) == (reason, True)
    assert whole.startswith(stream.joined())
    assert 0 < len(stream.joined()) < len(whole)


def test_a_stream_request_may_be_answered_by_one_object(asking: Asking) -> None:
    response = asking.post(fault="non-stream-json", stream=True)
    assert response.headers["content-type"] == "application/json"
    assert response.json()["choices"][0]["message"]["content"] == asking.said()


# -- a spoiled stream --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_slow_first_token_comes_after_headers_and_a_comment(asking: Asking) -> None:
    body = asking.body(stream=True, fault="slow-first-token=0.1")
    with asking.client.stream("POST", "chat/completions", json=body) as response:
        pieces = list(response.iter_text())
    assert pieces[0] == ": still at work\n\n"
    assert heard("".join(pieces)).joined() == asking.said() == asking.said(fault="slow-first-token=0.1")


@pytest.mark.slow
def test_a_slow_first_token_outlasts_the_reader(asking: Asking, fake_openai: Served) -> None:
    with pytest.raises(httpx.ReadTimeout):
        asking.client.post("chat/completions", json=asking.body(fault="slow-first-token"), timeout=0.1)
    assert (fake_openai.settled().outcome, fake_openai.settled().status) == ("disconnected", None)


@pytest.mark.slow
def test_a_stall_shows_the_first_half_and_then_nothing(asking: Asking, fake_openai: Served) -> None:
    asking.client.timeout = httpx.Timeout(10, read=0.4)
    arrived = broken_stream(asking, httpx.ReadTimeout, fault="stall")
    asking.client.timeout = httpx.Timeout(10)
    assert first_half(arrived, asking.said())
    assert fake_openai.settled(0).outcome == "disconnected"
    assert asking.stream(fault="stall=0.05").joined() == asking.said()


@pytest.mark.slow
def test_a_stall_after_the_only_token_still_shows_it(asking: Asking) -> None:
    whole = asking.said(max_tokens=1)
    asking.client.timeout = httpx.Timeout(10, read=0.4)
    arrived = broken_stream(asking, httpx.ReadTimeout, fault="stall", max_tokens=1)
    assert heard(arrived.rpartition("\n\n")[0]).joined() == whole


def test_a_reset_before_the_first_byte_is_a_reset(asking: Asking, fake_openai: Served) -> None:
    for stream in (False, True):
        with pytest.raises(httpx.ReadError) as caught:
            asking.post(model="fault:reset-before-first-byte", stream=stream)
        assert "reset" in str(caught.value)
        assert (fake_openai.settled().outcome, fake_openai.settled().status) == ("reset", None)


def test_a_reset_in_mid_stream_comes_after_the_first_half(asking: Asking, fake_openai: Served) -> None:
    arrived = broken_stream(asking, httpx.ReadError, fault="reset-mid-stream")
    assert first_half(arrived, asking.said())
    assert (fake_openai.settled(0).outcome, fake_openai.settled(0).status) == ("reset", 200)


def test_a_reset_is_one_on_the_wire(fake_openai: Served) -> None:
    body = json.dumps(
        {"model": "fault:reset-before-first-byte", "messages": [{"role": "user", "content": "?"}]}
    )
    request = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    address = fake_openai.root_url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=10) as connection:
        connection.sendall(request.encode())
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_a_connection_hung_up_leaves_the_body_incomplete(asking: Asking, fake_openai: Served) -> None:
    arrived = broken_stream(asking, httpx.RemoteProtocolError, fault="hang-up")
    assert first_half(arrived, asking.said())
    assert fake_openai.settled(0).outcome == "hung-up"


def test_an_early_close_lacks_the_reason_and_done(asking: Asking, fake_openai: Served) -> None:
    stream = asking.stream(fault="early-close")
    assert (stream.finish_reason, stream.done) == (None, False)
    assert 0 < len(stream.joined()) < len(asking.said())
    with pytest.raises(json.JSONDecodeError):
        asking.post(fault="early-close").json()


def test_a_malformed_event_stands_between_good_ones(asking: Asking) -> None:
    response = asking.post(fault="malformed-sse", stream=True)
    events = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    broken = [at for at, event in enumerate(events[:-1]) if not _is_json(event)]
    assert len(broken) == 1
    assert 1 < broken[0] < len(events) - 2
    with pytest.raises(json.JSONDecodeError):
        asking.post(fault="malformed-sse").json()


def test_an_error_may_come_as_an_event(asking: Asking) -> None:
    stream = asking.stream(fault="error-event")
    assert stream.done
    assert stream.events[-1] == {
        "error": {"message": "The engine died.", "type": "server_error", "param": None, "code": 500}
    }
    assert stream.joined()


def test_a_ragged_stream_says_the_same(asking: Asking) -> None:
    body = asking.body(stream=True, fault="ragged-sse", stream_options={"include_usage": True})
    with asking.client.stream("POST", "chat/completions", json=body) as response:
        pieces = list(response.iter_raw())
    ragged = heard(b"".join(pieces).decode())
    assert max(map(len, pieces)) == 7
    assert any(not _is_utf8(piece) for piece in pieces), "some piece ends inside a character"
    plain: Heard = asking.stream(stream_options={"include_usage": True})
    assert (ragged.joined(), ragged.usage, ragged.done) == (plain.joined(), plain.usage, True)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True
