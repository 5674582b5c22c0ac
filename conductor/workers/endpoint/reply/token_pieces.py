"""Log probabilities of an answer's tokens while it is streamed: what comes beside its pieces. Read leniently.

Knows how servers write `logprobs`; knows no connection. Whether the tokens spell the answer is not judged:
some servers add a last one that is no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, TypeVar

from conductor.text.json_text import portable
from conductor.values.message_parts.token_logprobs import TokenLogprob, TopLogprob
from conductor.values.messages import Delta
from conductor.workers.keys.mask import Mask, MaskedStream

T = TypeVar("T")

UNLIKELY = -9999.0
"""The log probability of a token that is as good as impossible, as OpenAI writes it: JSON has no infinity."""

_LEAST = 8
"""Characters that a token counts for at least: what it takes in memory is more than its text."""


class TokenPieces:
    """The tokens of one answer, each with at most `most` others; `characters` counts what came.

    `mask` hides keys: a token that has a part of one is left out.
    """

    def __init__(self, mask: Mask, *, most: int) -> None:
        self.characters = 0
        self._mask = mask
        self._most = most
        self._masked = MaskedStream(mask)
        self._undecided: list[TokenLogprob] = []
        self._held: list[TokenLogprob] = []
        self._waiting: list[TokenLogprob] = []
        self._whole: list[TokenLogprob] = []

    def take(self, logprobs: object, *, answers: bool | None) -> None:
        """The next ones; `answers`: whether they are the answer's, None while that is not known."""
        self._undecided += self._read(logprobs)
        if answers:
            for token in self._undecided:
                self._add(token)
        if answers is not None:
            self._undecided.clear()

    def beside(self, items: list[T]) -> list[T | Delta]:
        """The items of an answer with the tokens that came with its text, or before it."""
        places = [at for at, item in enumerate(items) if isinstance(item, Delta)]
        beside: list[T | Delta] = [*items]
        if places and self._waiting:
            last = items[places[-1]]
            assert isinstance(last, Delta)
            beside[places[-1]] = Delta(last.text, tuple(self._waiting))
            self._whole += self._waiting
            self._waiting.clear()
        return beside

    def clear(self) -> None:
        """All of them were thoughts'."""
        for tokens in (self._undecided, self._held, self._waiting, self._whole):
            tokens.clear()

    @property
    def whole(self) -> tuple[TokenLogprob, ...]:
        """All of them, once the answer has ended."""
        return (*self._whole, *self._waiting, *self._held)

    def _add(self, token: TokenLogprob) -> None:
        before = self._masked.held + token.token
        certain = self._masked.feed(token.token)
        if certain + self._masked.held != before:
            # The last part of a key; the other parts were held back.
            self._held.clear()
            return
        self._held.append(token)
        if not self._masked.held:
            self._waiting += self._held
            self._held.clear()

    def _read(self, logprobs: object) -> Iterator[TokenLogprob]:
        if not isinstance(logprobs, Mapping):
            return
        # A refusal is an answer's text here, too.
        for name in ("content", "refusal"):
            for entry in _objects(logprobs.get(name)):
                if (own := self._one(entry)) is not None:
                    top = (self._one(other) for other in _objects(entry.get("top_logprobs"))[: self._most])
                    likely = tuple(one for one in top if one is not None and self._shows(one))
                    yield TokenLogprob(own.token, own.logprob, own.bytes, likely)

    def _one(self, entry: Mapping[str, Any]) -> TopLogprob | None:
        """The token in an object, or None if the object is not a token."""
        token, logprob = entry.get("token"), entry.get("logprob")
        if not isinstance(token, str) or not isinstance(logprob, int | float) or isinstance(logprob, bool):
            return None
        text = portable(token)
        bytes = _bytes(entry.get("bytes"), text)
        self.characters += max(_LEAST, len(text), len(bytes or ()))
        return TopLogprob(text, float(logprob) if isfinite(logprob) else UNLIKELY, bytes)

    def _shows(self, one: TopLogprob) -> bool:
        return self._mask(one.token) == one.token


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _bytes(value: object, text: str) -> tuple[int, ...] | None:
    """The bytes as they came, else those of the text; None if it stands for a part of a character."""
    if isinstance(value, list) and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return tuple(value)
    return None if "\ufffd" in text else tuple(text.encode())
