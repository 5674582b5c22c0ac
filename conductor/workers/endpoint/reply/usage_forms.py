"""The tokens and dollars of a call as servers write them: under other names, in other places, in pieces.

A table of names. Knows neither connections nor prices. A number that cannot be true is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from conductor.values.messages import Usage

_PROMPT = (
    *("prompt_tokens", "promptTokenCount", "prompt_eval_count", "inputTokenCount", "input_tokens"),
    *("promptTokens", "inputTokens", "input_token_count", "num_prompt_tokens"),
)
_COMPLETION = (
    *("completion_tokens", "candidatesTokenCount", "eval_count", "outputTokenCount", "output_tokens"),
    *("predicted_n", "completionTokens", "outputTokens", "output_token_count", "num_completion_tokens"),
    *("generation_tokens", "generated_tokens", "generated_token_count"),  # mlx, TGI, watsonx
)
_TOTAL = ("total_tokens", "totalTokenCount", "totalTokens", "total_token_count")
_CACHE_READ = ("cache_read_input_tokens", "cacheReadInputTokens", "cacheReadInputTokenCount")
_CACHE_WRITE = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWriteInputTokenCount")
"""Anthropic and Bedrock, whose prompt is counted without them."""

_CACHED = (
    *("prompt_cache_hit_tokens", *_CACHE_READ, "cached_tokens", "num_cached_tokens"),
    *("cachedContentTokenCount", "cache_n", "cachedInputTokens"),
)
_REASONING = ("reasoning_tokens", "reasoningTokens")
_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_COMPLETION_DETAILS = ("completion_tokens_details", "output_tokens_details")
_DOLLARS = {
    # https://docs.x.ai/developers/cost-tracking: 1 USD = 10,000,000,000 ticks
    "cost_in_usd_ticks": 10_000_000_000,
    "cost_usd_total": 1,  # https://docs.llmgateway.io/features/cost-breakdown
    "cost": 1,  # OpenRouter, Vercel, Requesty, LiteLLM, NanoGPT; Perplexity and Bifrost: an object
}
"""What a call was billed, in so many units a dollar; a name with its currency comes first. An estimate, as
DeepInfra's `estimated_cost`, is no bill.
"""
_IN_COST = {"total_cost": 1}
_BILL = "x_nanogpt_pricing"
_IN_BILL = {"costUsd": 1, "cost": 1, "amount": 1}
_CURRENCY = ("currency", "cost_currency", "paymentSource")
_ROUBLES = "cost_rub"
"""Of Polza and AITunnel, whose `cost` is the same number."""

_TOKENS = frozenset((*_PROMPT, *_COMPLETION, *_TOTAL, *_CACHED, "prompt_n"))
_FRAMES = dict.fromkeys(
    (
        *("usage", "usageMetadata", "x_groq", "meta", "tokens", "timings", "details", "metrics"),
        "amazon-bedrock-invocationMetrics",
    )
).keys()
"""Objects that hold the numbers, or another such object: OpenAI, Gemini, Groq, Cohere, llama.cpp, TGI,
Replicate.
"""

_MOST_TOKENS, _MOST_DOLLARS = 10**15, 10**6
"""Of one call; more cannot be true."""


class TokensSoFar:
    """What one answer's chunks have named: of each kind the most, as servers count upwards.

    A total or a cost holds until a later chunk counts more tokens without one.
    """

    def __init__(self) -> None:
        self._most: dict[str, int] = {}
        self._total: int | None = None
        self._cost: float | None = None

    def take(self, *places: object) -> bool:
        """Add what stands in these objects; whether any number did."""
        number_came = False
        for place in places:
            numbers = _numbers(place)
            if numbers is not None:
                number_came = self._count(_kinds(numbers), _cost(numbers)) or number_came
            timings = place.get("timings") if isinstance(place, dict) else None
            if isinstance(timings, dict) and (cached := _count(timings.get("cache_n"))) is not None:
                self._count({"cached": cached}, None)  # llama.cpp: beside its usage
            if isinstance(place, dict) and _BILL in place:
                number_came = self._count({}, _cost(place[_BILL], _IN_BILL)) or number_came
        return number_came

    def _count(self, kinds: Mapping[str, int], cost: float | None) -> bool:
        if any(kinds.get(kind, 0) > self._most.get(kind, 0) for kind in ("prompt", "completion", "total")):
            self._total = self._cost = None
        for kind, number in kinds.items():
            self._most[kind] = max(number, self._most.get(kind, 0))
        if "total" in kinds:
            self._total = max(kinds["total"], self._total or 0)
        if cost is not None:
            self._cost = max(cost, self._cost or 0.0)
        return bool(kinds) or cost is not None

    @property
    def is_known(self) -> bool:
        return bool(self._most) or self._cost is not None

    def usage(self, *, wrote: bool) -> Usage:
        """The tokens, and the dollars where they were reported; `wrote`: whether the answer has any text,
        which takes at least one token.

        Where thoughts count only in the total (xAI, Gemini), they are the total less the prompt.
        """
        prompt = self._most.get("prompt") or None
        completion, total = self._most.get("completion"), self._most.get("total")
        if total and (prompt or not completion):
            completion = max(completion or 0, total - (prompt or 0))
        if completion == 0 and (wrote or prompt is None):
            completion = None
        usage = Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=self._most.get("cached"),
            # A 0 among zeros in place of numbers is no bill.
            reported_cost=self._cost or (None if prompt is None and completion is None else self._cost),
        )
        if not self._total or completion is None or self._total == usage.total:
            return usage
        return usage.model_copy(update={"reported_total": self._total})


def _numbers(place: object, names: Collection[str] = _TOKENS) -> Mapping[str, Any] | None:
    """The innermost object of a chunk's part that has numbers; what is billed, or timed, may be less."""
    if not isinstance(place, dict):
        return None
    # Most chunks have none, and each is looked at.
    for name in () if _FRAMES.isdisjoint(place) else _FRAMES:
        if isinstance(inner := place.get(name), dict):
            return _numbers(inner, _TOKENS | _DOLLARS.keys())
    return None if place.keys().isdisjoint(names) else place


def _kinds(numbers: Mapping[str, Any]) -> dict[str, int]:
    prompt, completion, total = (_first(numbers, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    cached = _detail(numbers, _PROMPT_DETAILS, _CACHED)
    reasoning = _detail(numbers, _COMPLETION_DETAILS, _REASONING)
    if "prompt_n" in numbers:  # llama.cpp: without those from its cache
        prompt = _sum(_count(numbers["prompt_n"]), cached)
    elif "prompt_tokens" not in numbers and not numbers.keys().isdisjoint((*_CACHE_READ, *_CACHE_WRITE)):
        prompt = _sum(prompt, _first(numbers, _CACHE_READ), _first(numbers, _CACHE_WRITE))
    prompt = _sum(prompt, _count(numbers.get("toolUsePromptTokenCount")))
    if "thoughtsTokenCount" in numbers:
        completion = _sum(completion or 0, _count(numbers["thoughtsTokenCount"]))
    elif total is None and reasoning is not None and completion is not None and reasoning > completion:
        completion += reasoning  # a part is no larger than its whole, so it comes on top
    named = {"prompt": prompt, "completion": completion, "total": total, "cached": cached}
    return {kind: number for kind, number in named.items() if number is not None}


def _cost(bill: object, names: Mapping[str, int] = _DOLLARS) -> float | None:
    """The US dollars in these numbers; None if they have none, or those of another currency."""
    if not isinstance(bill, Mapping):
        return None
    foreign = _ROUBLES in bill or any(bill.get(name) not in (None, "USD", "usd") for name in _CURRENCY)
    for name, units in names.items():
        value = None if foreign and "usd" not in name.lower() else bill.get(name)
        cost = _cost(value, _IN_COST) if isinstance(value, Mapping) else _dollars(value, units)
        if cost is not None:
            return _with_upstream(cost, bill)
    return None


def _with_upstream(cost: float, bill: Mapping[str, Any]) -> float | None:
    """OpenRouter: a call by a key of one's own costs what the key's provider takes and, as `cost`, a fee.

    https://openrouter.ai/docs/use-cases/usage-accounting. Without `is_byok`, as there, it is one where the
    provider takes more than `cost`, which has its share in any other call.
    """
    details, own_key = bill.get("cost_details"), bill.get("is_byok")
    upstream = _dollars(details.get("upstream_inference_cost")) if isinstance(details, Mapping) else None
    if own_key is True:
        return None if upstream is None else cost + upstream
    return cost if own_key is False or upstream is None or upstream <= cost else cost + upstream


def _detail(numbers: Mapping[str, Any], places: tuple[str, ...], names: tuple[str, ...]) -> int | None:
    """The number under one of these names in the details, else beside them."""
    details = [numbers[place] for place in places if isinstance(numbers.get(place), Mapping)]
    return next((n for place in (*details, numbers) if (n := _first(place, names)) is not None), None)


def _first(numbers: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    counts = (_count(numbers.get(name)) for name in names)
    return next((number for number in counts if number is not None), None)


def _sum(first: int | None, *more: int | None) -> int | None:
    return None if first is None else first + sum(number or 0 for number in more)


def _count(number: Any) -> int | None:
    """A whole number from 0 on, also as a text or with a decimal point; None for anything else."""
    if isinstance(number, str) and re.fullmatch(r"[0-9]{1,15}(\.0{1,9})?", number):
        number = float(number)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    whole = isinstance(number, int) and not isinstance(number, bool)
    return number if whole and 0 <= number < _MOST_TOKENS else None


def _dollars(value: Any, units: int = 1) -> float | None:
    """An amount in so many units a dollar, also as a text; None for one that is none, or cannot be true."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}(\.\d{1,40})?([eE]-?\d{1,2})?", value):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value / units if is_number and 0 <= value < _MOST_DOLLARS * units else None
