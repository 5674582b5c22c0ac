"""An upstream whose every request reports numbers of its own, and the log of what it put on the wire.

A request is known by the mark in its instruction (`marked`), one for a plan by "plan". The script of a case
has the behaviours of each mark, one for each request, and the plans in their order. Knows the bodies of HTTP;
knows no product and no price.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import Any, NamedTuple

from tests.support.endpoints.fake_openai.faults import (
    DONE,
    Act,
    BreakOff,
    Head,
    Script,
    Wait,
    encoded,
    refused,
)
from tests.support.endpoints.fake_openai.log import Entry, Log

PLANNER = "planner"
"""The model that plans."""

PLAN = "plan"
"""The mark of its requests."""

NUMBER = "{plan}"
"""Stands in a plan's text for its number."""

REASONING = 777
"""Tokens that `reasons` reports on top of prompt and completion."""

_MARK = re.compile(r"Part (\S+) of the case\.")


def marked(mark: str) -> str:
    """The instruction, or the question, of what has this mark."""
    return f"Part {mark} of the case."


class Piece(NamedTuple):
    """What one piece of a response's body carries."""

    usage: Mapping[str, Any] | None = None
    has_words: bool = False


@dataclass(slots=True)
class Sent(Entry):
    """One request of a model: its behaviour, and the pieces of the response that this has."""

    number: int = 0
    model: str = ""
    mark: str = ""
    behaviour: str = "ok"
    whole: list[Piece] = field(default_factory=list)

    @property
    def on_the_wire(self) -> Sequence[Piece]:
        """The pieces that were sent: the client may have left before the end."""
        return self.whole[: self.pieces]

    @property
    def report(self) -> Mapping[str, Any] | None:
        """The last usage that was sent."""
        reports = [piece.usage for piece in self.on_the_wire if piece.usage is not None]
        return reports[-1] if reports else None

    @property
    def has_words(self) -> bool:
        """Whether words of an answer were sent."""
        return any(piece.has_words for piece in self.on_the_wire)

    @property
    def is_whole(self) -> bool:
        """Whether all that it was to send was sent."""
        return self.pieces >= len(self.whole)

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value}" for name, value in (self.report or {}).items()) or "no report"
        words = "words" if self.has_words else "no words"
        end = self.outcome if self.is_whole else f"{self.outcome} after {self.pieces} of {len(self.whole)}"
        return f"{self.number:3} {self.model} {self.mark}: {self.behaviour}: {words}, {numbers}; {end}"


class Writing:
    """The pieces of one answer, in their order."""

    def __init__(self, sent: Sent, text: str, usage: Mapping[str, Any]) -> None:
        self.text, self.usage = text, usage
        self.sent = sent

    def chunk(
        self, delta: Mapping[str, Any] | None = None, finish: str | None = None, *, usage: Any = None
    ) -> bytes:
        """An event with this delta and this usage, if any."""
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        shape = {"id": f"r{self.sent.number}", "object": "chat.completion.chunk", "created": 1}
        self.sent.whole.append(Piece(usage, has_words=bool(delta and delta.get("content"))))
        more = {} if usage is None else {"usage": usage}
        return b"data: " + encoded({**shape, "model": self.sent.model, "choices": choices, **more}) + b"\n\n"

    def opening(self, *, usage: Any = None) -> Iterator[Act]:
        """The head and the first chunk, without a word."""
        yield Head(content_type="text/event-stream")
        yield self.chunk({"role": "assistant", "content": ""}, usage=usage)

    def words(self, most: int | None = None, *, counting: bool = False) -> Iterator[bytes]:
        """The words; `counting`: each with the usage so far."""
        for at, word in enumerate(self.text.split(" ")[:most], start=1):
            prompt = self.usage["prompt_tokens"]
            so_far = {"prompt_tokens": prompt, "completion_tokens": at, "total_tokens": prompt + at}
            yield self.chunk({"content": f"{word} "}, usage=so_far if counting else None)

    def ending(self, finish: str = "stop", *, usage: Any = None) -> Iterator[bytes]:
        """The reason why it ends, the usage and the mark of the end."""
        yield self.chunk({}, finish)
        if usage is not None:
            yield self.chunk(usage=usage)
        self.sent.whole.append(Piece())
        yield DONE

    @property
    def prompt_alone(self) -> Mapping[str, Any]:
        """The usage before a word."""
        prompt = self.usage["prompt_tokens"]
        return {"prompt_tokens": prompt, "completion_tokens": 0, "total_tokens": prompt}

    def error(self) -> bytes:
        """An error in the stream."""
        self.sent.whole.append(Piece())
        return b"data: " + encoded({"error": {"message": "overloaded", "code": 503}}) + b"\n\n"


_CUT = BreakOff(reset=False)


def _whole(writing: Writing, usage: Mapping[str, Any] | None, *, finish: str = "stop") -> Iterator[Act]:
    yield from writing.opening()
    yield from writing.words()
    yield from writing.ending(finish, usage=usage)


def _no_words(finish: str) -> Callable[[Writing], Iterator[Act]]:
    def write(writing: Writing) -> Iterator[Act]:
        yield from writing.opening()
        yield from writing.ending(finish, usage=writing.usage)

    return write


def _cut(*, words: bool, reports: bool) -> Callable[[Writing], Iterator[Act]]:
    def write(writing: Writing) -> Iterator[Act]:
        yield from writing.opening(usage=writing.prompt_alone if reports and not words else None)
        if words:
            yield from writing.words(2, counting=reports)
        yield _CUT

    return write


def _error(*, reports: bool) -> Callable[[Writing], Iterator[Act]]:
    def write(writing: Writing) -> Iterator[Act]:
        yield from writing.opening(usage=writing.prompt_alone if reports else None)
        yield writing.error()

    return write


def _stall(*, words: bool) -> Callable[[Writing], Iterator[Act]]:
    def write(writing: Writing) -> Iterator[Act]:
        yield from writing.opening()
        if words:
            yield from writing.words(2)
        yield Wait(float("inf"))

    return write


def _with(**more: Any) -> Callable[[Writing], Iterator[Act]]:
    return lambda writing: _whole(writing, {**writing.usage, **more})


def _reasons(writing: Writing) -> Iterator[Act]:
    """As xAI and Gemini report it: in the total alone."""
    total = writing.usage["total_tokens"] + REASONING
    details = {"reasoning_tokens": REASONING}
    return _whole(writing, {**writing.usage, "total_tokens": total, "completion_tokens_details": details})


def _cached(writing: Writing) -> Iterator[Act]:
    details = {"cached_tokens": writing.usage["prompt_tokens"] - 10}
    return _whole(writing, {**writing.usage, "prompt_tokens_details": details})


_STREAMS: Mapping[str, Callable[[Writing], Iterator[Act]]] = {
    "ok": lambda writing: _whole(writing, writing.usage),
    "no usage": lambda writing: _whole(writing, None),
    "reasons": _reasons,
    "cached": _cached,
    "own cost": _with(cost=0.0123),
    "empty": _no_words("stop"),
    "filtered": _no_words("content_filter"),
    "cut": _cut(words=False, reports=False),
    "cut, reported": _cut(words=False, reports=True),
    "cut in words": _cut(words=True, reports=False),
    "counts, cut": _cut(words=True, reports=True),
    "error": _error(reports=False),
    "error, reported": _error(reports=True),
    "stalls": _stall(words=False),
    "stalls in words": _stall(words=True),
}

REFUSALS: Mapping[str, int] = {"429": 429, "500": 500}

FAILURES = (
    *REFUSALS, "empty", "filtered", "cut", "cut, reported", "cut in words", "counts, cut", "error",
    "error, reported",
)  # fmt: skip
"""Behaviours without an answer, or with half of one."""

ANSWERS = ("ok", "no usage", "reasons", "cached", "own cost")
"""Behaviours with a whole answer."""

STALLS = ("stalls", "stalls in words")
"""Behaviours that end when the client leaves."""


@dataclass(frozen=True)
class UpstreamScript:
    """What the upstream does in one case: the `behaviours` of a mark, then the default of a model, else "ok".

    `plans` are the texts of the planner's whole answers, the last one again and again, each with its number
    (from 1) in the place of `NUMBER`. The `seed` gives the numbers of tokens.
    """

    behaviours: Mapping[str, Sequence[str]]
    plans: Sequence[str]
    defaults: Mapping[str, str]
    seed: int


class ReportingUpstream:
    """An endpoint for `fake_openai.serving`."""

    def __init__(self) -> None:
        self.log = Log()
        self._lock = Lock()
        self.begin(UpstreamScript({}, ("",), {}, 0))

    def begin(self, script: UpstreamScript) -> None:
        """Forget the case before, and play this one."""
        with self._lock:
            self._script = script
            self._requests = Counter[str]()
            self._plans = 0
            self._stalls = True
            self.log.clear()

    def end_stalls(self) -> None:
        """Answer from now on where the script has a stall."""
        with self._lock:
            self._stalls = False

    @property
    def sent(self) -> tuple[Sent, ...]:
        """The requests of the case, oldest first."""
        return tuple(entry for entry in self.log.entries if isinstance(entry, Sent))

    @property
    def stalls(self) -> bool:
        """Whether a request waits for its client to leave, with all that comes before sent."""
        return any(each.behaviour in STALLS and each.outcome is None and each.is_whole for each in self.sent)

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[Entry, Script]:
        """See `FakeOpenAI.respond`; the list of models is empty."""
        has_key = "authorization" in headers
        if not content:
            return Entry(path, has_key), (Head(), encoded({"object": "list", "data": []}))
        with self._lock:
            return self._responded(path, has_key, json.loads(content))

    def _responded(self, path: str, has_key: bool, body: dict[str, Any]) -> tuple[Entry, Script]:
        model = body["model"]
        text = "\n".join(str(message["content"]) for message in body["messages"])
        marks = _MARK.findall(text)
        mark = PLAN if model == PLANNER or not marks else marks[-1]
        times = self._requests[mark]
        self._requests[mark] += 1
        own = self._script.behaviours.get(mark, ())
        behaviour = own[times] if times < len(own) else self._script.defaults.get(model, "ok")
        if behaviour in STALLS and not self._stalls:
            behaviour = "ok"
        number = len(self.log.entries)
        sent = Sent(path, has_key, body, number=number, model=model, mark=mark, behaviour=behaviour)
        numbers = Random(f"{self._script.seed} {mark} {times}")
        prompt, completion = numbers.randint(50, 4000), numbers.randint(20, 2000)
        total = prompt + completion
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
        script = self._script_of(sent, usage)
        self.log.add(sent)
        return sent, script

    def _script_of(self, sent: Sent, usage: Mapping[str, Any]) -> Script:
        if (status := REFUSALS.get(sent.behaviour)) is not None:
            sent.whole.append(Piece())
            return refused(status, "Not now.", retry_after="0")
        text = f"This is answer {sent.number} of {sent.model}."
        if sent.mark == PLAN:
            plans = self._script.plans
            text = plans[min(self._plans, len(plans) - 1)].replace(NUMBER, str(self._plans + 1))
            self._plans += sent.behaviour in ANSWERS
        elif "response_format" in sent.body and usage["completion_tokens"] % 2:
            text = '{"answer": 1}'
        return tuple(_STREAMS[sent.behaviour](Writing(sent, text, usage)))
