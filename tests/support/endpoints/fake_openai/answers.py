"""The answer to a request: words, a plan or JSON, always the same for the same request.

Knows the fields of a request that change the answer; knows nothing of how an answer is sent or spoiled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import jsonschema

REASONING = "reasoning-"
"""Begins the name of a model that sends reasoning, in `reasoning_content`."""

REASONING_FIELD = "reasoning-field-"
"""The same, in `reasoning`, as other servers call the field."""

_WORDS = (
    "The claim holds when each part is read beside its source. No number stands alone, so compare both "
    "sides, weigh what is known, name what is missing and keep the shorter naïve way."
)
_THOUGHT = "Simulated reasoning: weigh what is known, then keep the shorter way."
_BEFORE_PLAN = "One worker can answer this alone."
_STEP = {"instruction": "Answer the question in short.", "model_id": 0, "access": []}
_PLAN = {"reasoning": _BEFORE_PLAN, "steps": [_STEP]}
"""The smallest plan, which is valid for every pool and every way of writing access."""

_PLAN_AS_LISTS = f'model_id = [0]\nsubtasks = ["{_STEP["instruction"]}"]\naccess_list = [[]]'
_BEGINNINGS, _ENDS = (f"{_BEFORE_PLAN}\n\n", ""), ("", "\ntools = [null]")


class CannotAnswerError(ValueError):
    """No answer of this endpoint satisfies the constraint that a request has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`deltas` are a token each. `usage` is None in a stream that did not ask for it. With `top_logprobs`
    each token has its log probability, with so many others.
    """

    model: str
    deltas: tuple[Mapping[str, Any], ...]
    finish_reason: str
    usage: Mapping[str, int] | None
    top_logprobs: int | None = None


def answer(body: Mapping[str, Any], *, text: str | Sequence[Mapping[str, Any]] | None = None) -> Answer:
    """The answer to a request's body, with this text, or these deltas with calls of tools, where they are
    given, cut at its limit of tokens.

    Raises `CannotAnswerError`.
    """
    model = body["model"]
    prompt = "\n\n".join(_words(message["content"]) for message in body["messages"])
    field = "reasoning" if model.startswith(REASONING_FIELD) else "reasoning_content"
    thoughts = _tokens(_THOUGHT) if model.startswith(REASONING) else []
    calls = None if text is None or isinstance(text, str) else list(text)
    words = text if isinstance(text, str) and text else None
    deltas = calls or [{field: token} for token in thoughts] + [
        {"content": token} for token in _tokens(words or _text(body, prompt))
    ]
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or len(deltas)
    prompt_tokens, completion = len(_tokens(prompt)), min(limit, len(deltas))
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion,
        "total_tokens": prompt_tokens + completion,
    }
    return Answer(
        model=model,
        deltas=tuple(deltas[:limit]),
        finish_reason="length"
        if limit < len(deltas)
        else "tool_calls"
        if any("tool_calls" in delta for delta in deltas)
        else "stop",
        usage=usage if body.get("stream_options", {}).get("include_usage", False) else None,
        top_logprobs=body.get("top_logprobs", 0) if body.get("logprobs") else None,
    )


def logprobs_of(delta: Mapping[str, Any], *, top: int) -> dict[str, Any]:
    """`logprobs` of the choice with this delta: of its token, in a thought or a call too."""
    token = next((text for text in delta.values() if isinstance(text, str)), json.dumps(delta))
    likely = [token, *(f"{token}{at}" for at in range(1, top))]
    each = [
        {"token": text, "logprob": -0.25 * (at + 1), "bytes": list(text.encode("utf-8", "replace"))}
        for at, text in enumerate(likely)
    ]
    return {"content": [{**each[0], "top_logprobs": each[:top]}], "refusal": None}


def _tokens(text: str) -> list[str]:
    """Pieces that joined give the text: a word each, with the space before it."""
    return re.findall(r"\s*\S+|\s+", text)


def _words(content: str | list[dict[str, Any]] | None) -> str:
    """The text of a message's content, which has parts where it has images."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _text(body: Mapping[str, Any], prompt: str) -> str:
    if (structured := body.get("structured_outputs")) is not None:
        return _matching(structured["regex"])
    if (form := body.get("response_format")) is not None:
        return _valid(form["json_schema"]["schema"])
    if "access_list" in prompt:
        return f"{_BEFORE_PLAN}\n\n{_PLAN_AS_LISTS}"
    mark = sha256(f"{body['model']}\n{prompt}".encode("utf-8", "backslashreplace")).hexdigest()[:6]
    return f"Simulated answer № {mark}: {_WORDS}"


def _matching(expression: str) -> str:
    """A plan that the regular expression matches, with reasoning where it has room for some."""
    for text in (f"{begins}{_PLAN_AS_LISTS}{ends}" for begins in _BEGINNINGS for ends in _ENDS):
        if re.fullmatch(expression, text):
            return text
    raise CannotAnswerError("The regular expression does not match the smallest plan.")


def _valid(schema: Mapping[str, Any]) -> str:
    """A plan that the JSON Schema allows, with reasoning where it has a property for it."""
    plan = {name: value for name, value in _PLAN.items() if name in schema["properties"]}
    items = schema["properties"].get("steps", {}).get("items", {})
    if "tools" in items.get("properties", {}):
        plan["steps"] = [_STEP | {"tools": None}]
    try:
        jsonschema.validate(plan, schema)
    except jsonschema.ValidationError as error:
        raise CannotAnswerError(f"The schema does not allow the smallest plan: {error.message}") from error
    return json.dumps(plan)
