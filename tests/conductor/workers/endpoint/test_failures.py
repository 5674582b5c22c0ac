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
def test_an_error_in_the_stream_may_pass_where_its_code_states_it(error: object, transient: bool) -> None:
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
        (400, b'{"error": {"type": "bad_request_error", "message": "input new_sensitive (1026)"}}', None),
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
        (FAILURES.markup("Log in"), "unreadable reply"),
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


OLLAMA, GEMINI = "http://127.0.0.1:11434", "https://generativelanguage.googleapis.com/v1beta"
KEY_FAULT = [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]


@pytest.mark.parametrize(
    ("server", "base_url", "status", "body", "advice"),
    [
        ("Ollama, gin", OLLAMA, 404, "404 page not found",
         f"write {OLLAMA}/v1 as base_url in the pool file, or check that it serves the model 'm'"),
        ("Ollama", f"{OLLAMA}/v1", 404, "404 page not found", "check base_url in the pool file, and that it"),
        ("Open WebUI", "http://h/api", 404, {"detail": "Model not found"}, "serves the model 'm'"),
        ("Gemini's own", GEMINI, 404, "", f"write {GEMINI}/openai as base_url"),
        ("Azure", "https://a.openai.azure.com", 404, {"error": {"message": "Resource not found"}},
         "write https://a.openai.azure.com/openai/v1 as base_url"),
        ("nginx", "http://h", 405, "<title>405 Not Allowed</title>", "write http://h/v1 as base_url"),
        ("Express", "http://h/v1", 400, "Cannot POST /v1/chat/completions", "check base_url in the pool"),
        ("nginx", "http://h/v1", 400, "<title>400 The plain HTTP request was sent to HTTPS port</title>",
         "write https://h/v1 as base_url"),
        ("Gemini", f"{GEMINI}/openai", 400, KEY_FAULT, "name the variable that holds its key"),
        ("Anthropic", ENDPOINT.base_url, 400, {"error": {"message": "Your credit balance is too low"}},
         "see to the account there"),
        ("OpenAI", ENDPOINT.base_url, 429, {"error": {"message": "a", "code": "insufficient_quota"}},
         "see to the account there"),
        ("Gemini, a limit", ENDPOINT.base_url, 429, {"error": {"message": "check your plan and billing"}},
         "wait a while"),
        ("Envoy", ENDPOINT.base_url, 503, "the load balancer has no credit", "run the step again later"),
        ("OpenAI, moderated", ENDPOINT.base_url, 403, {"error": {"message": "Your input was flagged"}},
         "change what it objects to"),
    ],
)  # fmt: skip
def test_the_advice_is_about_what_is_at_fault(
    server: str, base_url: str, status: int, body: object, advice: str
) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    failures = Failures("alpha", Endpoint(base_url=base_url, model="m"))
    failure = failures.status(httpx.Response(status), content.encode(), NO_KEYS)
    assert advice in str(failure), server


@pytest.mark.parametrize(
    ("server", "error", "advice"),
    [
        ("Ollama, its root", "Ollama is running", f"write {OLLAMA}/v1 as base_url in the pool file"),
        (
            "LM Studio",
            "Unexpected endpoint or method. (POST /chat/completions)",
            f"write {OLLAMA}/v1 as base",
        ),
        (
            "MiniMax",
            {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
            "the account",
        ),
        ("MiniMax", {"base_resp": {"status_code": 2049, "status_msg": "invalid api key"}}, "holds its key"),
        ("OpenRouter", {"code": 402, "message": "Add more"}, "see to the account there"),
        ("OpenRouter", {"code": 429, "message": "Slow"}, "wait a while"),
        ("vLLM", {"code": 400, "message": "Bad", "type": "BadRequestError"}, "change what it objects to"),
        ("Ollama", "model runner has unexpectedly stopped", "run the step again"),
    ],
)
def test_the_advice_for_an_error_inside_a_success_is_about_it(
    server: str, error: object, advice: str
) -> None:
    failures = Failures("alpha", Endpoint(base_url=OLLAMA, model="m"))
    assert advice in str(failures.in_stream(error, NO_KEYS)), server


@pytest.mark.parametrize(
    ("location", "advice"),
    [
        ("https://h/v1/chat/completions", "write https://h/v1 as base_url"),
        ("https://login.example.com/?next=v1", "write the address it sends to as base_url"),
    ],
)
def test_an_address_that_a_server_sends_to_is_written(location: str, advice: str) -> None:
    failure = FAILURES.status(httpx.Response(308, headers={"location": location}), b"", NO_KEYS)
    assert advice in str(failure)


def test_a_server_without_tls_is_called_by_http() -> None:
    error = httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1000)")
    assert str(FAILURES.of(error, 0)) == (
        "alpha: api.example.com does not speak TLS; write http://api.example.com/v1 as base_url in the pool "
        "file."
    )


@pytest.mark.parametrize(
    ("server", "words", "seconds"),
    [
        ("Gemini", "You exceeded your current quota. Please retry in 31.4s.", 31.4),
        ("OpenAI", "Rate limit reached for m. Limit: 3. Please try again in 20s.", 20),
        ("OpenAI", "Rate limit reached for m. Please try again in 6ms.", 0.006),
        ("Groq", "Rate limit reached for model `m`. Please try again in 1m26.4s.", 86.4),
        ("Azure", "Requests have exceeded token rate limit. Please retry after 6 seconds.", 6),
        ("a text", "Please try again in a while, or in 5m.", None),
    ],
)
def test_a_pause_in_a_servers_words_is_kept(server: str, words: str, seconds: float | None) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert FAILURES.status(httpx.Response(429), body, NO_KEYS).retry_after == seconds, server
    header = httpx.Response(429, headers={"retry-after": "7"})
    assert FAILURES.status(header, body, NO_KEYS).retry_after == 7


@pytest.mark.parametrize(
    ("server", "status", "error", "transient"),
    [
        ("Groq, flex", 498, {"type": "capacity_exceeded", "message": "a"}, True),
        ("AWS", 400, {"__type": "ThrottlingException", "message": "a"}, True),
        ("GitHub", 403, {"code": "rate_limited", "type": "RateLimitReached", "message": "a"}, True),
        ("Groq, a request beyond the limit", 413, {"code": "rate_limit_exceeded", "message": "a"}, False),
        ("OpenAI", 400, {"code": "invalid_value", "message": "try again, busy"}, False),
    ],
)
def test_a_status_may_pass_where_its_code_states_it(
    server: str, status: int, error: object, transient: bool
) -> None:
    body = json.dumps({"error": error}).encode()
    assert FAILURES.status(httpx.Response(status), body, NO_KEYS).transient is transient, server


@pytest.mark.parametrize(
    ("server", "status", "words"),
    [
        ("OpenRouter", 404, "No endpoints found that support tool use."),
        ("llama.cpp", 500, "tools param requires --jinja flag"),
        ("vLLM", 400, '"auto" tool choice requires --enable-auto-tool-choice'),
    ],
)
def test_a_refusal_of_tools_is_recognised_under_any_status(server: str, status: int, words: str) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert FAILURES.status(httpx.Response(status), body, NO_KEYS).refuses("tool"), server


def test_a_refused_parameter_is_recognised_by_its_name() -> None:
    body = b'{"error": {"message": "Unknown parameter", "param": "structured_outputs"}}'
    failure = FAILURES.status(httpx.Response(400), body, NO_KEYS)
    assert failure.refuses("structured_outputs")
    assert not failure.refuses("response_format")
    assert not FAILURES.status(httpx.Response(503), body, NO_KEYS).refuses("structured_outputs")
