"""The misbehaviours by name: what each does and how one is chosen.

A request chooses them by its model's name (`fault:stall`, several as `fault:rate-limited+no-usage`) or by
the extra body parameter `fault` (a name or a list of names) beside any model. Most take a value: how long,
how often, how much (`fault:stall=2`). What answers "so many times, then as usual" counts by the request's
body: equal requests share one count, which begins anew after an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conductor.fake_openai import refusing, spoiling
from conductor.fake_openai.answer import Answer
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.refusing import Call
from conductor.fake_openai.script import Script


@dataclass(frozen=True, slots=True)
class Fault:
    """A misbehaviour; exactly one of the three functions is its own.

    `refuse` may put a script in the answer's place, `change` alters what is said, `spoil` how it is sent.
    `value` is the default of what may stand after "="; None where nothing may, "" where something must.
    """

    name: str
    says: str
    value: str | None = None
    refuse: Callable[[Call], Script | None] | None = None
    change: Callable[[Answer, str], Answer] | None = None
    spoil: Callable[[Script, str], Script] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A misbehaviour that a request asked for, with its value."""

    fault: Fault
    value: str


_ALL = (
    Fault("slow-first-token", "=SECONDS before the first token", "30", spoil=spoiling.slow),
    Fault("stall", "silence in mid-stream, for ever or =SECONDS", spoiling.FOR_EVER, spoil=spoiling.stalled),
    Fault("reset-before-first-byte", "the connection is reset at once", spoil=spoiling.reset_first),
    Fault("reset-mid-stream", "the connection is reset in mid-stream", spoil=spoiling.reset_midway),
    Fault("hang-up", "the connection is closed in mid-stream", spoil=spoiling.hung_up),
    Fault("early-close", "the stream ends without finish_reason and [DONE]", spoil=spoiling.closed_early),
    Fault("malformed-sse", "an event of broken JSON in mid-stream", spoil=spoiling.malformed),
    Fault("error-event", "an error object in mid-stream", spoil=spoiling.error_event),
    Fault("ragged-sse", "a legal stream in a strange form", spoil=spoiling.ragged),
    Fault("non-stream-json", "one JSON object where a stream was asked for", change=spoiling.in_one_piece),
    Fault(
        "rate-limited", "429 without Retry-After, =TIMES, then an answer", "2", refuse=refusing.rate_limited
    ),
    Fault(
        "rate-limited-retry-after",
        "429 once with Retry-After: =SECONDS",
        "1",
        refuse=refusing.rate_limited_retry_after,
    ),
    Fault(
        "rate-limited-retry-date",
        "429 once with Retry-After as a date =SECONDS ahead",
        "1",
        refuse=refusing.rate_limited_retry_date,
    ),
    Fault("error-500-then-200", "500, =TIMES, then an answer", "1", refuse=refusing.failing_first),
    Fault("error-500", "500, always", refuse=refusing.failing),
    Fault("bad-request-400", "400 in OpenAI's shape", refuse=refusing.bad_request),
    Fault("unauthorized-401", "401, as for a wrong key", refuse=refusing.unauthorized),
    Fault("leaky-401", "401 that repeats the Authorization header it was sent", refuse=refusing.leaking),
    Fault(
        "unknown-parameter",
        "400 where the body has the parameter =NAME",
        "",
        refuse=refusing.unknown_parameter,
    ),
    Fault("wrong-content-type", "an HTML page with status 200", refuse=refusing.wrong_content_type),
    Fault("empty", "an answer without text", change=spoiling.empty),
    Fault("no-usage", "tokens are not told", change=spoiling.without_usage),
    Fault("huge", "an answer of =MEGABYTES", "10", change=spoiling.huge),
    Fault("tool-calls", "a tool call that nobody asked for", change=spoiling.calling_tool),
    Fault("length", "half an answer, finish_reason length", change=spoiling.cut),
    Fault("content-filter", "half an answer, finish_reason content_filter", change=spoiling.filtered),
)

FAULTS = {fault.name: fault for fault in _ALL}


def chosen(names: Sequence[str]) -> tuple[Chosen, ...]:
    """The misbehaviours behind names as `stall` or `stall=2`.

    Raises `Refusal` for a name that is none, and for a value that a misbehaviour cannot take.
    """
    return tuple(_chosen(*name.partition("=")) for name in names)


def _chosen(name: str, sign: str, value: str) -> Chosen:
    fault = FAULTS.get(name)
    if fault is None:
        raise _wrong(f"There is no fault {name!r}; there are {', '.join(FAULTS)}.")
    if not sign and fault.value != "":
        return Chosen(fault, fault.value or "")
    if fault.value is None:
        raise _wrong(f"The fault {name} takes no value.")
    if not value:
        raise _wrong(f"The fault {name} needs a value: {fault.says}.")
    if fault.value and not _is_amount(value) and value != fault.value:
        raise _wrong(f"The fault {name} takes a number from 0 to 1000, not {value!r}: {fault.says}.")
    return Chosen(fault, value)


def _is_amount(text: str) -> bool:
    try:
        amount = float(text)
    except ValueError:
        return False
    return math.isfinite(amount) and 0 <= amount <= 1000


def _wrong(message: str) -> Refusal:
    return Refusal(message, param="fault", code="unknown_fault")
