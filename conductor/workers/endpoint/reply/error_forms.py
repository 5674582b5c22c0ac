"""Errors as servers write them: which JSON is one, its words, and whether another request may help.

A table of forms, read leniently. Knows neither HTTP nor answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conductor.text.bounded_value import json_value

_WORDS = (
    "error message detail errors msg errormsg errormessage errordescription errmsg err errormessages issues "
    "reason exception fault faultstring baseresp statusmsg header output xgroq"
).split()
"""Keys under which the words of an error stand, or an object that has them, without signs and in small
letters; the first with words counts. From "fault" on: Apigee, MiniMax, Xunfei, DashScope, Groq.
"""

_CODES = (
    *("code", "status", "status_code", "http_status_code", "error_code", "type", "error_type"),
    *("Code", "__type", "statusCode", "error_status", "http_code"),  # the last: MiniMax
)
_FINE = frozenset({"", "0", "200", "ok", "success", "succeeded", "true", "none", "null"})
"""Codes of answers that are no errors, as texts."""

_PASSING = re.compile(
    r"overload|ratelimit|throttl|unavailable|exhausted|toomanyrequests|capacityexceeded|timeout|timedout"
    r"|deadlineexceeded|internal(server)?(error|exception)|internal$|^servererror|^apierror$|busy|tryagain"
    r"|^(429|449|408|409|5\d\d)$"
    r"|^(1302|1303|1305|1234)$"  # Zhipu: too many at once, too often, too much traffic; its network
    r"|^(1000|1001|1002|1013|1024|1033|1039)$"  # MiniMax: unknown, timeout, limits, its own faults
    r"|^(336100|3505)$"  # Baidu: busy; Mistral: capacity
)
_TITLE = re.compile(r"<(?:title|h1|message)\b[^<>]{0,200}>\s*([^<\s][^<]*)", re.IGNORECASE)
_LASTING = re.compile(r"quota|billing|balance")
"""No later request helps against these."""

_OBJECTIONS = frozenset({400, 411, 413, 414, 415, 422, 431})
"""Statuses by which a server objects to the request itself, and not to the account or to its own state."""
_OBJECTION = re.compile(r"invalidrequest|badrequest|invalidargument|validation|invalidparameter")
"""The same in codes."""
_FAULTS = {
    "key": re.compile(r"(api|access|secret)key|authentic"),
    "account": re.compile(
        r"quota(?!tion)|billing|(?<!un)balance(?!r)|credit|arrear|overdue|insufficientfunds|payment"
    ),
}
"""Words about who asks."""
_CONTENT = re.compile(
    r"contentfilter|content(management)?policy|contentpolicy|responsibleai|moderation|flagged|datainspection"
    r"|inappropriatecontent|sensitive|context(length|size|window)|maximumcontext|toomanytokens|(prompt|input)(is)?toolong"
)
"""Words about the content of a request: the same server would answer another one."""


@dataclass(frozen=True)
class ErrorReport:
    """A server's report of an error: its words, "" if it has none, and the HTTP status that it names."""

    words: str
    status: int | None = None
    may_pass: bool = False
    codes: tuple[str, ...] = ()


def report_of(error: Any) -> ErrorReport:
    """The report in an error of any form; its codes without signs and in small letters."""
    texts = [str(code) for code in _codes(error)]
    words = message_of(error)
    squeezed = list(map(_squeezed, texts or [words[:100]]))
    statuses = (int(text) for text in texts if re.fullmatch(r"[45]\d\d", text))
    may_pass = any(map(_PASSING.search, squeezed)) and not any(map(_LASTING.search, squeezed))
    return ErrorReport(words, next(statuses, None), may_pass, tuple(map(_squeezed, texts)))


def report_in(body: bytes) -> ErrorReport:
    """The report in an error's body, whose words are its whole text where that is no JSON."""
    text = body.decode("utf-8", errors="replace")
    try:
        return report_of(json_value(text))
    except ValueError:
        return ErrorReport(text)


def culprit_of(status: int | None, report: ErrorReport) -> str | None:
    """Whether the "content" of the request is at fault, or who asked: the "key" or the "account"."""
    texts = [*report.codes, _squeezed(report.words[:1_000])]
    if any(map(_CONTENT.search, texts)):
        return "content"
    # Gemini's words of any limit are about a plan and its billing.
    texts = texts[:-1] if status is not None and (status == 429 or status >= 500) else texts
    return next((fault for fault, words in _FAULTS.items() if any(map(words.search, texts))), None)


def is_outage(status: int | None, report: ErrorReport) -> bool:
    """Whether the server, the way to it or the account is at fault, and not what was requested of it."""
    fault = culprit_of(status, report)
    if fault is not None or report.may_pass:
        return fault != "content"
    return status not in _OBJECTIONS if status is not None else not any(map(_OBJECTION.search, report.codes))


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def is_error(body: Mapping[str, Any], *, answers: bool) -> bool:
    """Whether the object is an error; `answers` where it has a part of an answer or tokens as well."""
    if body.get("error") or body.get("object") in ("error", "Error") or body.get("type") == "error":
        return True
    if _words(body.get("x_groq")):
        return True
    base = body.get("base_resp")
    if isinstance(base, Mapping) and str(base.get("status_code") or 0) != "0":
        return True
    if answers:
        return False
    codes = [str(code).lower() for key, code in body.items() if key in _CODES and code is not None]
    fine = body.get("success") is True or (bool(codes) and _FINE.issuperset(codes))
    return bool(_words(body)) and not fine


def error_message(body: bytes) -> str:
    """The message in an error's body; the whole text where its shape is unknown, an HTML page's title."""
    text = body.decode("utf-8", errors="replace").strip()
    if text.startswith("<"):
        return _title(text)
    try:
        return message_of(json_value(text))
    except ValueError:
        return text


def message_of(error: Any) -> str:
    """The words of an error in any form; without words, its type and its code."""
    if words := _words(error):
        return words
    codes = [code for code in _codes(error) if isinstance(code, str) and code.lower() not in _FINE]
    return " ".join(dict.fromkeys(codes)) if isinstance(error, Mapping) else ""


def _words(error: Any) -> str:
    match error:
        case str():
            return _inner(error)
        case [first, *_] if isinstance(first, Mapping) and "msg" in first:
            where = ".".join(map(str, first.get("loc") or ()))
            return f"{where}: {first['msg']}" if where else str(first["msg"])
        case [first, *_]:
            return _words(first)
        case {"metadata": {"raw": raw}} if inner := _words(raw):  # OpenRouter: what the provider answered
            return inner
        case {"message": {"text": str() as text}}:
            return text
        case {"error": str(), "message": str() as message} if message:  # Spring: the first is the status
            return _inner(message)
        case {"message": str() as message, "failed_generation": str() as text}:  # Groq
            return f"{message} {text}"
        case {"message": str() as message, "param": str() as parameter} if message and (
            parameter not in message and parameter != "None" and "error" not in error  # LiteLLM writes None
        ):
            return f"{message} ({parameter})"
        case Mapping():
            return next((words for inner in _inside(error) if (words := _words(inner))), "")
        case _:
            return ""


def _inside(error: Mapping[str, Any]) -> Iterator[Any]:
    """What may have the words of an error, the likeliest first."""
    named = {_squeezed(str(key)): value for key, value in error.items()}
    yield from (named[key] for key in _WORDS if key in named)
    # AWS; Tencent, and OpenAI's events of responses; "title": RFC 9457.
    yield from (value for key, value in error.items() if str(key).endswith("Exception"))
    yield from (value for key in ("response", "status") if isinstance(value := named.get(key), Mapping))
    yield from (named[key] for key in ("title",) if "status" in named and key in named)


def _codes(error: Any) -> Iterator[str | int]:
    """The codes, statuses and types in an error and in the objects inside it."""
    if isinstance(error, list):
        error = error[0] if error else None
    if not isinstance(error, Mapping):
        return
    for key in _CODES:
        if isinstance(code := error.get(key), str | int) and code not in ("error", False, True, 0):
            yield code
    yield from (str(key) for key in error if str(key).endswith("Exception"))
    for inner in _inside(error):
        yield from _codes(inner)


def _inner(text: str) -> str:
    """The words in an error that was put into a text as JSON, else the text."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _words(json_value(text)) or text
        except ValueError:
            pass
    return text


def _title(page: str) -> str:
    """The title or the heading of an HTML page, the message in an XML document, or ""."""
    title = _TITLE.search(page)
    return title[1].strip() if title else ""
