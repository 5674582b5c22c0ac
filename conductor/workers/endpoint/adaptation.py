"""A request without the parameters that its endpoint refuses, by what it has refused and by the pool file.

Knows how servers name a parameter and word a refusal; knows neither attempts nor connections.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from conductor.values.message_parts.opaque import is_opaque
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.tools import call_extra
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.endpoint.reply.content import is_thought

MOST = 5
"""Refusals to which one call is adapted."""

_READ_CHARACTERS = 4_000
_OTHER_CAUSES = (401, 402, 408, 409, 429)
_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_INSTEAD = {
    "system": "with the system message in the user's",
    "stream": "without streaming",
    "stream_options": "without stream_options, so its tokens stay unknown",
    "response_format": "with the form of the answer in words",
}
"""Where another way leads to the same."""

_NAMES = {
    # OpenAI, templates of vLLM and llama.cpp, Gemini, MiniMax.
    "system": r"\bsystem\b.{0,30}\b(?:role|message|prompt|instruction)|\brole\b.{0,60}\bsystem\b|"
    r"developer instruction|invalid chat setting|\broles? (?:must|should)(?: be)? alternat|"
    r"user and assistant roles|valid role",
    # OpenAI for an organization that is not verified, FastAPI, llama.cpp with tools.
    "stream": r"to stream this model|(?<!non-)\bstream(?:ing)?\b(?!.?options)\W+(?:\w+\W+){0,4}?"
    r"(?:not (?:be )?(?:support|permit|allow|avail|enabl|implement)|unsupported|unavailable|disabled)|"
    r"(?:not (?:be )?(?:support|permit|allow|avail|enabl)\w*|unsupported|cannot (?:be )?use\w*|"
    r"unknown (?:name|field|param\w*|argument))[^.]{0,60}\bstream(?:ing)?\b(?!.?options)|"
    r"\bstream\b\W+(?:\w+\W+){0,2}?must be (?:set to )?false",
    "stream_options": r"stream[_ ]?options|include[_ ]?usage",
    **dict.fromkeys(_LIMITS, r"max[_ ]?(?:completion[_ ]?|output[_ ]?)?tokens"),
    "temperature": r"\btemperature\b",
    "top_p": r"\btop[_ ]?p\b",
    "frequency_penalty": r"frequency[_ ]?penalty|\bpenalty is not",  # the second: Gemini
    "presence_penalty": r"presence[_ ]?penalty|\bpenalty is not",
    "seed": r"\bseed\b",
    "stop": r"(?<=['\"`.])stop\b|(?:parameter|argument|name|field)\W{1,3}stop\b|\bstop[_ ]?sequences?|"
    r": stop\W*$",
    # The second part: Ollama and Anthropic.
    "reasoning_effort": r"reasoning[_. ]?effort|(?:reasoning|think) value|support thinking|effort level",
    "parallel_tool_calls": r"parallel[_ ]?tool[_ ]?calls?",
    "response_format": r"response[_ ]?format|response mime type|\bjson_schema\b|\bjson mode|\bgrammar\b",
}
"""How servers name each, in small letters: xAI writes presencePenalty."""

_UNSUPPORTED = (
    r"(?:\bnot|n't|no longer) (?:\w+ ){0,2}?(?:support|permit|allow|avail|enabl|recogni|accept|compat)|"
    r"\bun(?:support|known|recogni|expect|avail)|\bextra|deprecated|forbidden"
)
_REFUSED = rf"{_UNSUPPORTED}|\binvalid\b|\bonly\b|cannot|to stream|alternat|valid role|at the beginning"
_OF_VALUE = (
    r"less than|greater than|\bbetween\b|\btoo \w+|at (?:most|least)|(?:max|min)imum|exceed|\brange\b|"
    r"(?:supported|allowed) (?:values|levels)|"
    r"(?:must|should) be (?:one of|an? |positive|strictly|non-|in\b|\")|"
    r"[<>≤≥]=? ?-?\d"
)
"""Another value would be taken: that is for the person to choose."""

_OF_MESSAGES = "messages."
"""Begins the names of members of messages, and of their calls."""

_NAME = r"\bmessages\b.{0,160}\bname\b"
"""Groq; "unknown name" is about another one."""

_REQUIRED = r"passed back|\bmissing\b|\brequired\b|must be (?:passed|provided|present|set|included)"
"""Such a member is not refused: DeepSeek's in a loop of tools, where one of several has none."""


class Adaptation:
    """What is not sent to one endpoint. What it refuses is remembered as long as the client lives."""

    def __init__(self, leave_out: Collection[str]) -> None:
        self._left = set(leave_out)

    def fit(
        self, body: Mapping[str, Any], form: ResponseFormat | None
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The body as it is sent, and the names of what it loses without another way to the same."""
        fitted = {name: value for name, value in body.items() if name not in self._left}
        if "max_tokens" in body and "max_tokens" in self._left and "max_completion_tokens" not in self._left:
            fitted["max_completion_tokens"] = body["max_tokens"]
        if "stream" in self._left:
            fitted["stream"] = False
            fitted.pop("stream_options", None)
        if form is not None and {form.type, "response_format"} & self._left:
            fitted.pop("response_format", None)
            fitted["messages"] = [*body["messages"][:-1], _with_content(body["messages"][-1], form.request)]
        if "system" in self._left:
            fitted["messages"] = without_system(fitted["messages"])
        members = {name for name in _members(body["messages"]) if name in self._left}
        if members:
            fitted["messages"] = [_without(message, members) for message in fitted["messages"]]
        sent = {*fitted, *_INSTEAD, *(_LIMITS[name] for name in fitted if name in _LIMITS)}
        return fitted, (*(name for name in body if name not in sent), *sorted(members))

    def learn(
        self, failure: EndpointFailure, body: Mapping[str, Any], form: ResponseFormat | None, done: set[str]
    ) -> str | None:
        """Adapts to this refusal of `body`, as it was sent; `done` are the names for which the call was
        adapted before, each once. Returns the change in words, or None if nothing changes.
        """
        if failure.status in _OTHER_CAUSES or len(done) >= MOST:
            return None
        message = failure.server_message[:_READ_CHARACTERS].lower().partition("did you mean")[0]
        members = {
            name: _NAME if name == "messages.name" else rf"\b{re.escape(name.rpartition('.')[2])}\b"
            for name in _members(body["messages"])
        }
        places = {
            name: match.start()
            for name, pattern in (_NAMES | members).items()
            if name not in done
            and (match := re.search(pattern, message)) is not None
            and _is_sent(name, body, form)
            and _is_refused(name, message, failure.status)
        }
        # What is refused stands first, before what to write instead or what goes with it.
        refused = [name for name, place in places.items() if place == min(places.values())]
        for name in refused:
            self._left.discard(_LIMITS.get(name, ""))
            self._left.add(form.type if name == "response_format" and form is not None else name)
            done |= {name, _LIMITS.get(name, name)}
        changes = (f"with {_LIMITS[name]}" if name in _LIMITS else f"without {name}" for name in refused)
        return _INSTEAD.get("".join(refused)) or " and ".join(changes) or None


def _is_sent(name: str, body: Mapping[str, Any], form: ResponseFormat | None) -> bool:
    if name.startswith(_OF_MESSAGES):
        return True
    if name == "system":
        return bool(without_system(body["messages"]) != body["messages"])
    if name == "response_format":
        # Without a form it is a plan's, which has weaker ones.
        return form is not None and name in body
    value = body.get(name)
    return value is not None and (name != "stream" or value is True)


def _is_refused(name: str, message: str, status: int | None) -> bool:
    """Whether the message, which names the parameter, is about it and not about its value."""
    if name.startswith(_OF_MESSAGES) and re.search(_REQUIRED, message):
        return False
    if "invalid schema" in message or (name not in _INSTEAD and re.search(_OF_VALUE, message)):
        return False
    if name in _LIMITS:
        # A limit that is beyond the context is named in many ways.
        return re.search(rf"{_UNSUPPORTED}|\b{_LIMITS[name]}\b", message) is not None
    # The fault of a request needs no words of a refusal; of a system message the text may be at fault.
    return (status in (400, 422) and name != "system") or re.search(_REFUSED, message) is not None


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages with those of the system as the user's, and neighbours of one role and name as one."""
    merged: list[Mapping[str, Any]] = []
    for message in messages:
        own = {**message, "role": "user"} if message["role"] == "system" else message
        last = merged[-1] if merged else {}
        alone = own["role"] == "tool" or not {**last, **own}.keys() <= {"role", "content", "name"}
        if last.get("role") != own["role"] or alone or last.get("name", own.get("name")) != own.get("name"):
            merged.append(own)
        else:
            merged[-1] = _with_content({**own, "content": last["content"]}, own["content"])
    return merged


def _with_content(message: Mapping[str, Any], more: Any) -> dict[str, Any]:
    """The message with a paragraph, or pieces, after its content."""
    contents = (message["content"], more)
    if all(isinstance(each, str) for each in contents):
        return {**message, "content": "\n\n".join(contents)}
    pieces = ([{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents)
    return {**message, "content": [piece for each in pieces for piece in each]}


def _members(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of members of these messages, and of their calls, that only some endpoints know."""
    own = [n for message in messages for n, value in message.items() if n == "name" or is_opaque(n, value)]
    calls = (call for message in messages for call in message.get("tool_calls") or ())
    of_calls = (f"tool_calls.{name}" for call in calls for name in call_extra(call))
    thoughts = (f"content.{part.get('type')}" for message in messages for part in _thoughts(message))
    return [f"{_OF_MESSAGES}{name}" for name in dict.fromkeys((*own, *of_calls, *thoughts))]


def _thoughts(message: Mapping[str, Any]) -> list[Any]:
    """The parts of its content that are thoughts."""
    content = message["content"]
    return [part for part in content if is_thought(part)] if isinstance(content, list) else []


def _without(message: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    rest = {name: value for name, value in message.items() if f"{_OF_MESSAGES}{name}" not in names}
    out = [part for part in _thoughts(message) if f"{_OF_MESSAGES}content.{part.get('type')}" in names]
    if out:
        rest["content"] = [part for part in message["content"] if part not in out] or ""
    if calls := rest.get("tool_calls"):
        of_calls = f"{_OF_MESSAGES}tool_calls."
        rest["tool_calls"] = [
            {name: part for name, part in call.items() if f"{of_calls}{name}" not in names} for call in calls
        ]
    return rest
