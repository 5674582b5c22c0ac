"""The tokens of a call as servers write them: under other names, in other places, as texts, in pieces.

A table of names. Knows neither connections nor prices. A number that cannot be true is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conductor.values.messages import Usage

_PROMPT = ("prompt_tokens", "promptTokenCount", "prompt_eval_count", "inputTokenCount", "input_tokens")
_COMPLETION = (
    *("completion_tokens", "candidatesTokenCount", "eval_count", "outputTokenCount", "output_tokens"),
    "predicted_n",
)
_TOTAL = ("total_tokens", "totalTokenCount")
_CACHED = (
    *("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens", "num_cached_tokens"),
    *("cachedContentTokenCount", "cache_n"),
)
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_NAMES = frozenset((*_PROMPT, *_COMPLETION, *_TOTAL, *_CACHED, "prompt_n"))
_FRAMES = dict.fromkeys(
    ("usage", "usageMetadata", "x_groq", "meta", "tokens", "timings", "amazon-bedrock-invocationMetrics")
).keys()
"""Objects that hold the numbers, or another such object: OpenAI, Gemini, Groq, Cohere, llama.cpp."""


class TokensSoFar:
    """The tokens that one answer's chunks have named: of each kind the most, as servers count upwards."""

    def __init__(self) -> None:
        self._most: dict[str, int] = {}

    def take(self, *places: object) -> bool:
        """Add what stands in these objects; whether any number did."""
        number_came = False
        for numbers in filter(None, map(_numbers, places)):
            for kind, number in _kinds(numbers):
                self._most[kind] = max(number, self._most.get(kind, 0))
                number_came = True
        return number_came

    @property
    def is_known(self) -> bool:
        """Whether any number came."""
        return bool(self._most)

    def usage(self, *, wrote: bool) -> Usage:
        """The tokens; `wrote`: whether the answer has any text, which takes at least one.

        Where thoughts count only in the total (xAI, Gemini), they are the total less the prompt.
        """
        prompt = self._most.get("prompt") or None
        completion, total = self._most.get("completion"), self._most.get("total")
        if total and (prompt or not completion):
            completion = max(completion or 0, total - (prompt or 0))
        unknown = completion == 0 and (wrote or prompt is None)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=None if unknown else completion,
            cached_tokens=self._most.get("cached"),
        )


def _numbers(place: object) -> Mapping[str, Any] | None:
    """The innermost object of a chunk's part that has numbers; what is billed, or timed, may be less."""
    if not isinstance(place, dict):
        return None
    # Most chunks have none, and each is looked at.
    for name in () if _FRAMES.isdisjoint(place) else _FRAMES:
        if isinstance(inner := place.get(name), dict):
            return _numbers(inner)
    return None if _NAMES.isdisjoint(place) else place


def _kinds(numbers: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    prompt, completion = _first(numbers, _PROMPT), _first(numbers, _COMPLETION)
    details = [numbers[name] for name in _DETAILS if isinstance(numbers.get(name), Mapping)]
    cached = next((n for place in (*details, numbers) if (n := _first(place, _CACHED)) is not None), None)
    if "prompt_n" in numbers:  # llama.cpp: without those from its cache
        prompt = _sum(_count(numbers["prompt_n"]), cached)
    elif "prompt_tokens" not in numbers and "cache_read_input_tokens" in numbers:  # Anthropic: the same
        prompt = _sum(prompt, cached, _count(numbers.get("cache_creation_input_tokens")))
    if "thoughtsTokenCount" in numbers:
        completion = _sum(completion, _count(numbers["thoughtsTokenCount"]))
    named = {"prompt": prompt, "completion": completion, "total": _first(numbers, _TOTAL), "cached": cached}
    yield from ((kind, number) for kind, number in named.items() if number is not None)


def _first(numbers: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    counts = (_count(numbers.get(name)) for name in names)
    return next((number for number in counts if number is not None), None)


def _sum(first: int | None, *more: int | None) -> int | None:
    return None if first is None else first + sum(number or 0 for number in more)


def _count(number: object) -> int | None:
    """A whole number from 0 on, also as a text or with a decimal point; None for anything else."""
    if isinstance(number, str) and re.fullmatch(r"\d{1,15}", number):
        return int(number)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None
