"""The failures of an endpoint, each as one sentence: who, what, how long, and what to do.

Knows httpx's errors and the statuses of HTTP; knows neither streams nor retries, but marks which failures
are worth another attempt. A key that a server repeats is masked.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from conductor.errors import NO_CONNECTION, TIMED_OUT, PoolError, WorkerError
from conductor.text.json_text import portable
from conductor.values.messages import NOTHING_USED, Usage
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.reply.error_forms import (
    ErrorReport,
    culprit_of,
    error_message,
    is_outage,
    report_in,
    report_of,
)
from conductor.workers.endpoint.transport.route import DIRECT, Route
from conductor.workers.keys.mask import Mask
from conductor.workers.keys.services import CALL, correct_base_url

_AGAIN = "run the step again"

_UNREADABLE = "unreadable reply"
"""The outage where what came is not what a server of models sends."""

_SHOWN_CHARACTERS = 300
"""The length at which a server's message is cut."""

_REFUSALS = ("401", "403", "407")
"""With which a proxy's answer begins that it repeats to every attempt."""

_WAIT = re.compile(
    r"(?:retry|try again) (?:in|after) (?:(\d{1,3})m(?!s))?(\d{1,5}(?:\.\d{1,9})?) ?(ms|s)", re.IGNORECASE
)
"""How long to wait, in the words of Gemini, OpenAI, Azure and Groq."""

_NOT_THERE = re.compile(
    r"unexpected endpoint|ollama is running|invalid url|page not found|cannot (?:get|post)", re.IGNORECASE
)
"""Words about a path, of LM Studio and Ollama (inside a success), OpenAI, Go and Express."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+|\s+")


_UNKNOWN = Usage()
"""The usage of a request on which its endpoint may work still."""


@dataclass(eq=False)
class EndpointFailure(WorkerError):
    """An endpoint gave no answer.

    `reason` and `advice` make the sentence. `status` is the HTTP status where there was one, `server_message`
    the server's own message, `transient` whether another attempt may help, after `retry_after` seconds where
    the server requires that. `cut_short` is true where the connection ended before the answer did. For
    `outage` and `used` see `WorkerError`.
    """

    reason: str
    _: KW_ONLY
    advice: str
    status: int | None = None
    server_message: str = ""
    transient: bool = False
    retry_after: float | None = None
    cut_short: bool = False
    outage: str | None = None
    used: Usage | None = None

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}."

    def refuses(self, parameter: str) -> bool:
        """Whether the server refused the request and named this parameter of its body."""
        return self.status in (400, 404, 422, 500, 501) and parameter in self.server_message

    def name_request(self, request_id: str | None) -> None:
        """Add the provider's id of the call to the sentence, for a request to its support."""
        if request_id is not None:
            self.reason = f"{self.reason} (request id {request_id})"

    def after(self, attempts: int) -> EndpointFailure:
        """The same once it has happened at the last of so many attempts."""
        if attempts == 1:
            return self
        reason = f"{self.reason}, at the last of {attempts} attempts"
        return replace(self, reason=reason, transient=False, retry_after=None, cut_short=False)


class Failures:
    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._patience = endpoint.patience
        self._at = f"{name}: {endpoint.host}"
        self._correction = correct_base_url(endpoint.base_url)
        self._place = f"write {self._correction} as base_url" if self._correction else "check base_url"

    # -- time --------------------------------------------------------------------------------------

    def no_first_token(self) -> EndpointFailure:
        return EndpointFailure(
            f"{self._at} sent no token within {_seconds(self._patience.first_token)}",
            advice="raise first_token_seconds in the pool file, or give the step a faster worker",
            outage=TIMED_OUT,
            used=_UNKNOWN,
        )

    def stalled(self, characters: int) -> EndpointFailure:
        seconds = _seconds(self._patience.between_tokens)
        return EndpointFailure(
            f"{self._at} sent nothing more for {seconds} after {_characters(characters)}",
            advice=f"{_AGAIN}, or raise between_tokens_seconds in the pool file",
            outage=TIMED_OUT,
            used=_UNKNOWN,
        )

    def too_slow(self) -> EndpointFailure:
        return EndpointFailure(
            f"{self._at} did not finish within {_seconds(self._patience.total)}, all attempts together",
            advice="raise total_seconds in the pool file, or request a shorter answer",
            outage=TIMED_OUT,
            used=_UNKNOWN,
        )

    def no_time_to_wait(self, failure: EndpointFailure, seconds: float) -> EndpointFailure:
        """Another attempt would begin only when the whole time is over."""
        retry_after = failure.retry_after
        pause = (
            _seconds(round(seconds, 1))
            if retry_after is None
            else f"the {_seconds(retry_after)} that it asks for"
        )
        return EndpointFailure(
            f"{failure.reason}, and asking again after {pause} would pass the "
            f"{_seconds(self._patience.total)} in all",
            advice="raise total_seconds in the pool file, or run the step later",
            status=failure.status,
            server_message=failure.server_message,
            outage=failure.outage,
            used=failure.used,
        )

    # -- the connection ----------------------------------------------------------------------------

    def of(self, error: httpx.TransportError, characters: int, route: Route = DIRECT) -> EndpointFailure:
        """What `error` means, on that way, after so many characters of an answer."""
        if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return self.broken(characters)
        certificate = _certificate_fault(error)
        if certificate is not None:
            return EndpointFailure(
                f"{self._at} has a certificate that is not trusted ({certificate})",
                advice="correct base_url, or point SSL_CERT_FILE to the authority's certificate",
                outage=NO_CONNECTION,
            )
        by = f" through {route.through}" if route.through else ""
        settings = f"{route.variable} and base_url" if by else "base_url"
        if "WRONG_VERSION_NUMBER" in str(error):
            return EndpointFailure(
                f"{self._at} does not speak TLS{by}",
                advice=f"write {self._scheme('http')} as base_url in the pool file",
                outage=NO_CONNECTION,
            )
        if isinstance(error, httpx.ConnectTimeout):
            return EndpointFailure(
                f"{self._at} took no connection{by} within {_seconds(self._patience.connect)}",
                advice=f"check {settings} and that the server runs, or raise connect_seconds in the "
                "pool file",
                transient=True,
                outage=TIMED_OUT,
            )
        advice = "start the server there, or correct base_url in the pool file"
        if by:
            advice = f"check {settings} in the pool file, or name its host in NO_PROXY"
        return EndpointFailure(
            f"{self._at} cannot be reached{by} ({_shortened(str(error)) or 'no connection'})",
            advice=advice,
            transient=not str(error).startswith(_REFUSALS),
            outage=NO_CONNECTION,
        )

    def unusable(self, error: PoolError) -> EndpointFailure:
        """A variable of the environment stands in the way, as `error` explains."""
        reason, _, advice = str(error).rstrip(".").rpartition("; ")
        return EndpointFailure(
            f"{self._at} cannot be reached: {reason}",
            advice=advice,
            outage=NO_CONNECTION,
            used=NOTHING_USED,
        )

    def broken(self, characters: int) -> EndpointFailure:
        when = f"after {_characters(characters)}" if characters else "before the first token"
        return EndpointFailure(
            f"{self._at} broke the connection {when}",
            advice=_AGAIN,
            transient=True,
            cut_short=True,
            outage="connection lost",
        )

    # -- what came -----------------------------------------------------------------------------------

    def status(
        self, response: httpx.Response, body: bytes, mask: Mask, *, encoding: str = ""
    ) -> EndpointFailure:
        """An answer that is no success; `encoding` is set where its body was compressed and not read."""
        code = response.status_code
        server_message, report = mask(error_message(body)), report_in(body)
        unread = f", with words compressed ({_shortened(encoding)}) that are not read" if encoding else ""
        return EndpointFailure(
            f"{self._at} answered {_status(code)}{_quoted(server_message)}{unread}",
            advice=self._advice(code, report, mask(response.headers.get("location", ""))),
            status=code,
            server_message=server_message,
            transient=_may_pass(code) or (report.may_pass and code != 413),
            retry_after=_retry_after(response.headers.get("retry-after", ""), server_message),
            outage=str(code) if is_outage(code, report) else None,
        )

    def _advice(self, code: int | None, report: ErrorReport, location: str = "") -> str:
        variable, fault = self._endpoint.api_key_env, culprit_of(code, report)
        match code:
            case _ if fault == "key" or (code in (401, 403) and fault != "content"):
                name = "name the variable that holds its key in api_key_env in the pool file"
                return name if variable is None else f"check the key in {variable}"
            case _ if code == 402 or fault == "account":
                return "see to the account there"
            case 407:
                return "write its user and password into the variable of the proxy, as http://USER:PASSWORD@HOST:PORT"
            case 404:
                model = f"that it serves the model {self._endpoint.model!r}"
                named = self._correction is None or re.search(r"\bmodel|deployment", report.words)
                place = f"{'check base_url' if named else self._place} in the pool file"
                return f"{place}, and {model}" if named else f"{place}, or check {model}"
            case 400 if "https port" in report.words.lower():
                return f"write {self._scheme('https')} as base_url in the pool file"
            case _ if code == 405 or _NOT_THERE.search(report.words):
                return f"{self._place} in the pool file"
            case None:
                return _AGAIN
            case 429:
                return "wait a while, or lower requests_per_minute or concurrency in the pool file"
            case _ if 300 <= code < 400:
                address = CALL.sub("", location) if CALL.search(location) else "the address it sends to"
                return f"write {address} as base_url in the pool file"
            case _ if _may_pass(code):
                return f"{_AGAIN} later"
            case _:
                return "change what it objects to in the step or the pool file"

    def in_stream(self, error: object, mask: Mask) -> EndpointFailure:
        """An error that came in the place of a piece of the answer."""
        report = report_of(error)
        server_message = mask(report.words)
        return EndpointFailure(
            f"{self._at} reported an error{_quoted(server_message)}",
            advice=self._advice(report.status, report),
            status=report.status,
            server_message=server_message,
            transient=report.may_pass,
            cut_short=report.may_pass,
            outage=str(report.status or "server error") if is_outage(report.status, report) else None,
        )

    def ended(self, reason: str, characters: int, words: str = "") -> EndpointFailure:
        """The answer ended for a reason that is a fault, or without one ("" then): it may be cut; `words` are
        what came and is no part of an answer.
        """
        how = "without a finish reason" if not reason else f"with the finish reason “{_shortened(reason)}”"
        when = f" after {_characters(characters)}" if characters else ""
        return EndpointFailure(
            f"{self._at} ended its answer {how}{when}, so it may be cut off{_quoted(words)}",
            advice=_AGAIN,
            transient=True,
            cut_short=True,
            # Gemini's word for a call that its model wrote wrongly.
            outage=None if "malformed_function_call" in reason.lower() else "broken off",
        )

    def markup(self, words: str) -> EndpointFailure:
        """The status is a success, but the body is no answer: a page, with `words` as its title."""
        return EndpointFailure(
            f"{self._at} answered with HTML or XML instead of an event stream{_quoted(words)}",
            advice=f"{self._place} in the pool file",
            outage=_UNREADABLE,
        )

    def _scheme(self, scheme: str) -> httpx.URL:
        return httpx.URL(self._endpoint.base_url).copy_with(scheme=scheme)

    def compressed(self, encoding: str) -> EndpointFailure:
        """The answer has a content encoding, which nothing here undoes."""
        return EndpointFailure(
            f"{self._at} sent its answer compressed ({_shortened(encoding)}), which is not read",
            advice="make the server, or a proxy before it, send no Content-Encoding where a request accepts "
            "identity",
            outage=_UNREADABLE,
        )

    def malformed(self, what: str, words: str = "") -> EndpointFailure:
        """What came is no answer; `words` are those that came instead."""
        return EndpointFailure(
            f"{self._at} sent something that is no chat completion ({what}){_quoted(words)}",
            advice=f"{_AGAIN}, or {self._place} in the pool file",
            outage=_UNREADABLE,
        )

    def too_long(self) -> EndpointFailure:
        limit = f"{self._endpoint.max_characters:,}"
        return EndpointFailure(
            f"{self._at} sent more than {limit} characters and was broken off",
            advice="set max_tokens for the worker, or raise max_characters in the pool file",
        )

    def tool_calls(self) -> EndpointFailure:
        return EndpointFailure(
            f"{self._at} called tools that were not offered, and answered nothing",
            advice=f"{_AGAIN}, or give the step another worker",
        )

    def filtered(self) -> EndpointFailure:
        return EndpointFailure(
            f"{self._at} held its answer back by its content filter",
            advice="word the step differently, or give it another worker",
        )


def _may_pass(code: int) -> bool:
    return code in (408, 409, 429) or code >= 500


def _status(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _seconds(number: float) -> str:
    return "1 second" if number == 1 else f"{number:,.{6 if number < 1e6 else 9}g} seconds"


def _characters(number: int) -> str:
    return "1 character" if number == 1 else f"{number:,} characters"


def _certificate_fault(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _shortened(text: str) -> str:
    """One line, without control characters and halves of others, of at most `_SHOWN_CHARACTERS`."""
    line = _UNPRINTABLE.sub(" ", portable(text)).strip()
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"


def _quoted(message: str) -> str:
    return f": “{_shortened(message).rstrip('.')}”" if message else ""


def _retry_after(header: str, words: str) -> float | None:
    """The seconds of a Retry-After header, given as such or as a date, else those in a server's words."""
    value = header.strip()
    if not value and (wait := _WAIT.search(words)) is not None:
        minutes, number, unit = wait.groups()
        return int(minutes or 0) * 60 + float(number) / (1000 if unit.lower() == "ms" else 1)
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    moment = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
