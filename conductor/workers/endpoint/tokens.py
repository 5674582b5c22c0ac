"""The tokens of a text, of a request's parts and of a whole call, for one worker.

Exact by the worker's tokenizer and for simulated workers, else estimated by length. Knows cards; knows no
price and no budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from conductor.errors import PoolError, WorkerError
from conductor.values.messages import Message, Request, Sampling
from conductor.values.output import WorkerKind
from conductor.values.provenance import LIKELY_CHARACTERS, Shares, counted, estimated, measured
from conductor.workers.endpoint.tokenizer import Tokenizer, read_tokenizer, stretches
from conductor.workers.protocol import WorkerCard

# -- of a text while it comes ------------------------------------------------------------------------


class TokenCount:
    """Counts one text for the worker of `card`. Built-in experts have no tokens: their count stays 0."""

    def __init__(self, card: WorkerCard) -> None:
        self._kind = card.kind
        self._tokenizer = _tokenizer(card)
        self._spaces = 0
        self._ascii = 0
        self._others = 0
        self._exact = 0
        self._any = False

    def add(self, text: str) -> None:
        """Count another piece; a tokenizer reads each piece for itself."""
        if not text or self._kind == "offline":
            return
        self._any = True
        if self._tokenizer is not None:
            self._exact += sum(self._tokenizer.counts([text]))
        elif self._kind == "simulated":
            self._spaces += text.count(" ")
        else:
            ascii_characters = len(text.encode("ascii", "ignore"))
            self._ascii += ascii_characters
            self._others += len(text) - ascii_characters

    @property
    def total(self) -> int:
        """The tokens so far. By length: four ASCII characters a token, any other character one token."""
        if not self._any:
            return 0
        if self._tokenizer is not None:
            return self._exact
        if self._kind == "simulated":
            return self._spaces + 1
        return -(-self._ascii // LIKELY_CHARACTERS) + self._others


def _tokenizer(card: WorkerCard) -> Tokenizer | None:
    if card.tokenizer is None or card.kind != "model":
        return None
    try:
        return read_tokenizer(Path(card.tokenizer))
    except PoolError:
        # The count is an estimate in any case; a file that is gone must not break a run.
        return None


# -- of a request's parts ----------------------------------------------------------------------------

REQUESTS_KEPT = 64
"""Requests whose shares stay in memory, because pages draw the same ones again and again."""


def request_shares(
    request: Request, *, kind: WorkerKind, card: WorkerCard | None = None, reported: int | None = None
) -> Shares:
    """What each source takes of `request`, sent to a worker of that `kind`; `card` where the pool has it.

    A simulated worker's own rule and a model's tokenizer are exact; a built-in expert reads characters. Any
    other model's tokens are estimated, to sum to those that its endpoint `reported`. Raises `PoolError`
    where the worker's tokenizer cannot be read any more.
    """
    tokenizer = None if card is None or card.tokenizer is None else read_tokenizer(Path(card.tokenizer))
    return _kept(request, kind, tokenizer, reported)


@lru_cache(maxsize=REQUESTS_KEPT)
def _kept(request: Request, kind: WorkerKind, tokenizer: Tokenizer | None, reported: int | None) -> Shares:
    if kind == "offline":
        return measured(request)
    if kind == "simulated":
        return counted(request, stretches, reported=reported)
    if tokenizer is not None:
        return counted(request, tokenizer.counts, reported=reported)
    return estimated(request, reported=reported)


# -- of a call, against the context ------------------------------------------------------------------

MOST_CHARACTERS = 6
"""Characters a token where a tokenizer does very well: only what cannot fit even then is refused."""


def check_context(
    card: WorkerCard, messages: Sequence[Message], sampling: Sampling, *, call: str, advice: str
) -> None:
    """Raises `WorkerError` with the numbers where `messages` cannot fit, by however favourable an estimate.

    `call` names what the call is for, `advice` what to do.
    """
    if card.context is None:
        return
    characters = sum(len(message.content) for message in messages)
    answer = sampling.max_tokens or 1
    if _tokens(characters, MOST_CHARACTERS) + answer <= card.context:
        return
    likely = _tokens(characters, LIKELY_CHARACTERS) + answer
    raise WorkerError(
        f"{card.name} has a context of {card.context:,} tokens, and {call} needs about {likely:,} (an "
        f"estimate: {characters:,} characters to read, {answer:,} tokens to answer); {advice}."
    )


def _tokens(characters: int, each: int) -> int:
    return -(-characters // each)
