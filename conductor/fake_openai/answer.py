"""The made-up answer to a request: text, reasoning, tokens and how it ended.

Knows what the request asks for; knows nothing of how an answer is sent or spoiled.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from random import Random
from typing import Any

from conductor.fake_openai.matching import matching
from conductor.fake_openai.plan import as_lists, as_objects, asks_for_plan, plan, reasoned
from conductor.fake_openai.refusal import Refusal
from conductor.fake_openai.request import ChatRequest, StructuredOutputs
from conductor.fake_openai.schema import UNWISHED, allowed
from conductor.fake_openai.text import prose, seeded, tokens

REASONING = "reasoning-"
"""What a model's name begins with that reasons aloud, in `reasoning_content`."""

REASONING_FIELD = "reasoning-field-"
"""The same, in `reasoning`, as other servers call the field."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said. `text` and `reasoning` are tokens that joined give the texts.

    It is told in pieces where it `streams`. `told_usage` is whether the tokens are told; `calls_tool` puts a
    tool call in the text's place.
    """

    id: str
    model: str
    created: int
    text: tuple[str, ...]
    reasoning: tuple[str, ...]
    reasoning_field: str
    finish_reason: str
    prompt_tokens: int
    streams: bool
    told_usage: bool
    calls_tool: bool = False

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens as OpenAI counts them: the reasoning is a part of the completion."""
        completion = len(self.text) + len(self.reasoning)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
            "completion_tokens_details": {"reasoning_tokens": len(self.reasoning)},
        }


def answer(request: ChatRequest, *, id: str) -> Answer:
    """The answer that `request` gets: always the same text, cut where its limit of tokens says so.

    Raises `Refusal` where it asks for a structure that cannot be given.
    """
    source = seeded(request.seeding)
    reasons = request.model.startswith(REASONING)
    reasoning = tokens(f"Simulated reasoning: {prose(source, 20)}") if reasons else []
    text = tokens(_text(request, source))
    limit = len(reasoning) + len(text) if request.limit is None else request.limit
    cut = limit < len(reasoning) + len(text)
    return Answer(
        id=id,
        model=request.model,
        created=int(time.time()),
        text=tuple(text[: max(0, limit - len(reasoning))]),
        reasoning=tuple(reasoning[:limit]),
        reasoning_field="reasoning" if request.model.startswith(REASONING_FIELD) else "reasoning_content",
        finish_reason="length" if cut else "stop",
        prompt_tokens=len(tokens(request.prompt)),
        streams=request.stream,
        told_usage=request.wants_usage,
    )


def _text(request: ChatRequest, source: Random) -> str:
    if request.structured_outputs is not None:
        return _structured(request.structured_outputs, request.prompt, source)
    wanted = request.response_format
    if wanted is not None and wanted.type == "json_schema":
        if wanted.json_schema is None:
            raise Refusal(
                "Missing required parameter: 'response_format.json_schema'.",
                param="response_format.json_schema",
                code="missing_parameter",
            )
        return _object(wanted.json_schema.definition, request.prompt, source)
    if wanted is not None and wanted.type == "json_object":
        return json.dumps({"answer": _words(source)}, ensure_ascii=False)
    if asks_for_plan(request.prompt):
        return reasoned(as_lists(plan(request.prompt, source)), source)
    return _words(source)


def _structured(wanted: StructuredOutputs, prompt: str, source: Random) -> str:
    given = [value for value in (wanted.regex, wanted.choice, wanted.definition) if value is not None]
    if len(given) != 1:
        raise Refusal(
            "structured_outputs needs exactly one of regex, json and choice.", param="structured_outputs"
        )
    if wanted.regex is not None:
        return _matching(wanted.regex, prompt, source)
    if wanted.choice is not None:
        return source.choice(wanted.choice)
    definition = wanted.definition
    if isinstance(definition, str):
        try:
            definition = json.loads(definition)
        except ValueError:
            raise Refusal("structured_outputs.json is not JSON.", param="structured_outputs.json") from None
    return _object(definition, prompt, source)


def _matching(expression: str, prompt: str, source: Random) -> str:
    """A text that the expression matches: a plan made of the prompt where it is one, else any."""
    text = matching(expression, source)
    if asks_for_plan(prompt):
        lists = as_lists(plan(prompt, source))
        for planned in (reasoned(lists, source), lists):
            if re.fullmatch(expression, planned):
                return planned
    return text


def _object(schema: Any, prompt: str, source: Random) -> str:
    """A value that the schema allows; where it is a schema of plans, a plan."""
    speaks_of = schema.get("properties", {}) if isinstance(schema, dict) else {}
    is_plan = "steps" in speaks_of or "subtasks" in speaks_of
    wish = as_objects(plan(prompt, source)) if is_plan else UNWISHED
    return json.dumps(allowed(schema, source, wish=wish), ensure_ascii=False)


def _words(source: Random) -> str:
    """An answer that says of itself what it is; its mark differs from request to request."""
    return f"Simulated answer № {source.getrandbits(24):06x}: {prose(source, source.randint(24, 48))}"
