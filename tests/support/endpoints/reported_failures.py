"""What an endpoint sends that counts a request and then gives no word, and what it sends that answers."""

from __future__ import annotations

from typing import Any

from tests.support.endpoints.raw_endpoint import DONE, chunk, event

REPORT = event({"choices": [], "usage": {"prompt_tokens": 1754, "completion_tokens": 0}})
FILTERED = event({"choices": [], "usage": {"prompt_tokens": 1754, "completion_tokens": 9}})
FAILED: dict[str, tuple[bytes, int]] = {
    "cut": (REPORT, 1754),
    "an error": (REPORT + event({"error": {"message": "Overloaded.", "code": 503}}), 1754),
    "filtered": (chunk("content_filter") + FILTERED + DONE, 1763),
}
"""Each with the tokens that it counts."""


def answer_of(text: str = "Yes.", **details: Any) -> bytes:
    """An answer that took 104 tokens, with these details."""
    usage = {"prompt_tokens": 100, "completion_tokens": 4, **details}
    return chunk(content=text) + chunk("stop") + event({"choices": [], "usage": usage}) + DONE
