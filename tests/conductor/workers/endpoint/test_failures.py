"""A failure is one sentence: who, what, and what to do."""

from __future__ import annotations

import json
import ssl

import httpx
import pytest

from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.keys.mask import NO_KEYS, Mask

ENDPOINT = Endpoint(base_url="https://api.example.com/v1", model="m")
FAILURES = Failures("alpha", ENDPOINT)


def _caused(error: httpx.ConnectError, cause: BaseException) -> httpx.ConnectError:
    error.__cause__ = cause
    return error


def test_a_certificate_that_is_not_trusted_is_not_asked_again() -> None:
    fault = ssl.SSLCertVerificationError()
    fault.verify_message = "self-signed certificate"
    failure = FAILURES.of(_caused(httpx.ConnectError("failed"), OSError()), 0)
    assert failure.transient
    failure = FAILURES.of(_caused(httpx.ConnectError("failed"), _caused(httpx.ConnectError(""), fault)), 0)
    assert not failure.transient
    assert str(failure) == (
        "alpha: api.example.com has a certificate that is not trusted (self-signed certificate); correct "
        "base_url, or point SSL_CERT_FILE to the authority's certificate."
    )


@pytest.mark.parametrize(
    ("attempts", "message"),
    [(1, "it is busy; wait."), (4, "it is busy, at the last of 4 attempts; wait.")],
)
def test_the_last_failure_counts_the_attempts(attempts: int, message: str) -> None:
    failure = EndpointFailure("it is busy", advice="wait", status=429, server_message="busy", transient=True)
    last = failure.after(attempts)
    assert (str(last), last.status, last.server_message) == (message, 429, "busy")


def test_a_repeated_key_is_masked_before_the_words_are_shortened() -> None:
    key = "sk-" + "k" * 100
    body = json.dumps({"error": {"message": "x" * 250 + key}}).encode()
    failure = FAILURES.status(httpx.Response(401), body, Mask([key]))
    assert "kk" not in str(failure) + failure.server_message
    assert f"{'x' * 250}***" in str(failure)
    assert "kk" not in str(FAILURES.in_stream({"message": key}, Mask([key])))


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff\xfe", b"{}", b"null", b"[]", b'{"error": null}'])
def test_words_in_no_known_shape_do_no_harm(body: bytes) -> None:
    assert str(FAILURES.status(httpx.Response(400), body, NO_KEYS)).startswith(
        "alpha: api.example.com answered 400 Bad Request"
    )


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        ({"code": 429, "message": "busy"}, True),
        ({"code": 503}, True),
        ({"code": 400}, False),
        ({"code": "server_error"}, True),
        ({"code": True}, False),
        ("broken", False),
    ],
)
def test_an_error_in_the_stream_may_pass_where_its_code_says_so(error: object, transient: bool) -> None:
    assert FAILURES.in_stream(error, NO_KEYS).transient is transient


@pytest.mark.parametrize(
    ("status", "body", "outage"),
    [
        *(
            (code, b"", str(code))
            for code in (301, 401, 402, 403, 404, 407, 408, 409, 429, 500, 502, 503, 529)
        ),
        *((code, b"", None) for code in (400, 413, 415, 422)),
        (429, b'{"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}', "429"),
        # Google and Anthropic refuse an account by 400, Alibaba by a code.
        (400, b'{"error": {"status": "INVALID_ARGUMENT", "message": "API key not valid."}}', "400"),
        (
            400,
            b'{"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}',
            "400",
        ),
        (400, b'{"error": {"code": "Arrearage", "message": "Access denied."}}', "400"),
        (400, b'{"error": {"message": "The grammar has unbalanced quotation marks"}}', None),
        (400, b'{"error": {"code": "content_filter", "message": "The prompt was filtered."}}', None),
        (403, b'{"error": {"message": "Your input was flagged", "code": 403}}', None),
        (500, b'{"error": {"message": "the request exceeds the available context size"}}', None),
        (400, b'{"error": {"code": "context_length_exceeded", "message": "Too long; see billing."}}', None),
        (503, b"<html><title>503 Service Temporarily Unavailable</title></html>", "503"),
    ],
)
def test_a_refusal_is_an_outage_unless_what_was_requested_is_at_fault(
    status: int, body: bytes, outage: str | None
) -> None:
    failure = FAILURES.status(httpx.Response(status), body, NO_KEYS)
    assert (failure.outage, failure.after(3).outage) == (outage, outage)
    assert FAILURES.no_time_to_wait(failure, 5).outage == outage


@pytest.mark.parametrize(
    ("failure", "outage"),
    [
        (FAILURES.of(httpx.ConnectError("[Errno 111] Connection refused"), 0), "no connection"),
        (FAILURES.of(httpx.ConnectError("[Errno -2] Name or service not known"), 0), "no connection"),
        (FAILURES.of(httpx.ConnectTimeout(""), 0), "timed out"),
        (FAILURES.of(httpx.ReadError(""), 7), "connection lost"),
        (FAILURES.no_first_token(), "timed out"),
        (FAILURES.stalled(3), "timed out"),
        (FAILURES.too_slow(), "timed out"),
        (FAILURES.ended("", 5), "broken off"),
        (FAILURES.ended("network_error", 5), "broken off"),
        (FAILURES.ended("MALFORMED_FUNCTION_CALL", 0), None),
        (FAILURES.in_stream({"type": "overloaded_error", "message": "Overloaded"}, NO_KEYS), "server error"),
        (FAILURES.in_stream({"code": 502, "message": "Upstream"}, NO_KEYS), "502"),
        (FAILURES.in_stream({"code": 400, "message": "Bad schema"}, NO_KEYS), None),
        (FAILURES.in_stream({"type": "BadRequestError", "message": "Bad schema"}, NO_KEYS), None),
        (FAILURES.wrong_type("text/html", "Log in"), "unreadable reply"),
        (FAILURES.malformed("no choices"), "unreadable reply"),
        (FAILURES.too_long(), None),
        (FAILURES.tool_calls(), None),
        (FAILURES.filtered(), None),
    ],
)
def test_each_other_failure_is_an_outage_or_the_answers_own_fault(
    failure: EndpointFailure, outage: str | None
) -> None:
    assert failure.outage == outage, str(failure)


def test_a_refused_parameter_is_recognised_by_its_name() -> None:
    body = b'{"error": {"message": "Unknown parameter", "param": "structured_outputs"}}'
    failure = FAILURES.status(httpx.Response(400), body, NO_KEYS)
    assert failure.refuses("structured_outputs")
    assert not failure.refuses("response_format")
    assert not FAILURES.status(httpx.Response(500), body, NO_KEYS).refuses("structured_outputs")
