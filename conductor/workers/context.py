"""Whether a call fits into a model's context, judged before it is made. Pure; no tokenizer is at hand."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.errors import WorkerError
from conductor.messages import Message, Sampling
from conductor.provenance import LIKELY_CHARACTERS
from conductor.workers.protocol import WorkerCard

MOST_CHARACTERS = 6
"""Characters a token where a tokenizer does very well: only what cannot fit even then is refused."""


def check_context(
    card: WorkerCard, messages: Sequence[Message], sampling: Sampling, *, call: str, advice: str
) -> None:
    """Raises `WorkerError` with the numbers where `messages` cannot fit, by however favourable an estimate.

    `call` says what the call is for, `advice` what to do.
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
