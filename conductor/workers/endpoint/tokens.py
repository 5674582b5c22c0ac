"""The tokens of a text, of a request's parts and of a whole call, for one worker.

Exact by the worker's own tokenizer and for simulated workers, else estimated by length. Knows cards, and a
`tokenizer.json` as the `tokenizers` library writes it; knows no price and no budget, and uses no network.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from conductor.errors import PoolError, WorkerError
from conductor.values.messages import NOTHING_USED, Message, Request, Sampling, written
from conductor.values.output import WorkerKind
from conductor.values.provenance import LIKELY_CHARACTERS, Shares, estimated_shares, exact_shares, measured
from conductor.workers.protocol import WorkerCard

if TYPE_CHECKING:
    import tokenizers

# -- by a tokenizer, or by the rule of simulated workers ---------------------------------------------

_CACHED_FILES = 16
"""Tokenizers that stay in memory: one has megabytes and takes half a second to read; a family shares one."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizer:
    """A model's tokenizer. Made by `read_tokenizer`."""

    def __init__(self, path: Path, model: tokenizers.Tokenizer) -> None:
        self.path = path
        self._model = model

    def counts(self, texts: Sequence[str]) -> tuple[int, ...]:
        """The tokens of the texts joined, each counted for the text in which it begins.

        Words may grow together where texts meet, so the texts are never read one by one.
        """
        # What is half a character to UTF-16 is none to the library.
        whole = _SURROGATE.sub("\ufffd", "".join(texts))
        starts = sorted(start for start, _ in self._model.encode(whole, add_special_tokens=False).offsets)
        return tuple(_by_text(starts, texts))


def stretches(texts: Sequence[str]) -> tuple[int, ...]:
    """The tokens of the texts joined, as simulated workers count them: stretches between spaces.

    One begins at the start and behind each space; it counts for the text in which it begins.
    """
    whole = "".join(texts)
    starts = [0, *(match.end() for match in re.finditer(" ", whole))]
    counts = _by_text(starts, texts)
    if counts:
        # Behind a space at the very end another stretch begins, however empty.
        counts[-1] += len(starts) - sum(counts)
    return tuple(counts)


def _by_text(starts: Sequence[int], texts: Sequence[str]) -> list[int]:
    """How many of the ascending `starts`, places in the texts joined, fall into each of the texts."""
    ends = [0, *accumulate(map(len, texts))]
    return [bisect_left(starts, end) - bisect_left(starts, start) for start, end in pairwise(ends)]


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in the file at `path`. Raises `PoolError` where it is missing or broken."""
    try:
        state = path.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise PoolError(
            f"{path} cannot be read: {reason}. Download the model's tokenizer.json to that place, "
            "or leave the key out."
        ) from error
    if path.is_dir():
        raise PoolError(f"{path} is a folder; name the tokenizer.json in it.")
    if not path.is_file():
        # A device or a pipe may never end.
        raise PoolError(f"{path} is not a file; name the model's tokenizer.json.")
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=_CACHED_FILES)
def _read(path: Path, _changed_at: int, _size: int) -> Tokenizer:
    import tokenizers  # noqa: PLC0415 - most pools name no tokenizer and need not wait for the library

    try:
        model = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise PoolError(
            f"{path} is not a tokenizer.json of the tokenizers library: {str(error)[:200]}. "
            "Download the model's own again."
        ) from error
    # Some files contain how a training batch is cut and filled up.
    model.no_truncation()
    model.no_padding()
    return Tokenizer(path, model)


# -- of a text while it comes ------------------------------------------------------------------------


class TokenCount:
    """Counts one text for the worker of `card`. Built-in experts have no tokens: their count stays 0."""

    def __init__(self, card: WorkerCard) -> None:
        self._kind = card.kind
        self._tokenizer = _tokenizer(card)
        # By length, four ASCII characters are a token, and any other character is one.
        by_length = card.kind in ("model", "embedded") and self._tokenizer is None
        self._parts_a_token = LIKELY_CHARACTERS if by_length else 1
        self._parts = 0

    def add(self, text: str) -> None:
        """Count another piece; a tokenizer reads each piece for itself."""
        if not text or self._kind == "offline":
            return
        if self._tokenizer is not None:
            self._parts += sum(self._tokenizer.counts([text]))
        elif self._kind == "simulated":
            self._parts += text.count(" ") + (self._parts == 0)
        else:
            ascii_characters = len(text.encode("ascii", "ignore"))
            self._parts += ascii_characters + LIKELY_CHARACTERS * (len(text) - ascii_characters)

    @property
    def total(self) -> int:
        return -(-self._parts // self._parts_a_token)


def _tokenizer(card: WorkerCard) -> Tokenizer | None:
    if card.tokenizer is None or card.kind != "model":
        return None
    try:
        return read_tokenizer(Path(card.tokenizer))
    except PoolError:
        # The count is an estimate in any case; a file that is gone must not break a run.
        return None


# -- of a request's parts ----------------------------------------------------------------------------

CACHED_REQUESTS = 64
"""Requests whose shares stay in memory, because pages draw the same ones again and again."""


def request_shares(
    request: Request, *, kind: WorkerKind, card: WorkerCard | None = None, reported: int | None = None
) -> Shares:
    """What each source takes of `request`, sent to a worker of that `kind`; `card` where the pool has it.

    A simulated worker's own rule and a model's tokenizer are exact; one that computes reads characters. Any
    other model's tokens are estimated, to sum to those that its endpoint `reported`. Raises `PoolError`
    where the worker's tokenizer cannot be read any more.
    """
    tokenizer = None if card is None or card.tokenizer is None else read_tokenizer(Path(card.tokenizer))
    return _shares(request, kind, tokenizer, reported)


@lru_cache(maxsize=CACHED_REQUESTS)
def _shares(request: Request, kind: WorkerKind, tokenizer: Tokenizer | None, reported: int | None) -> Shares:
    if kind == "offline":
        return measured(request)
    if kind == "simulated":
        return exact_shares(request, stretches, reported=reported)
    if tokenizer is not None:
        return exact_shares(request, tokenizer.counts, reported=reported)
    return estimated_shares(request, reported=reported)


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
    characters = sum(map(len, written(messages, sampling)))
    answer = sampling.max_tokens or 1
    if _tokens(characters, MOST_CHARACTERS) + answer <= card.context:
        return
    likely = _tokens(characters, LIKELY_CHARACTERS) + answer
    raise WorkerError(
        f"{card.name} has a context of {card.context:,} tokens, and {call} needs about {likely:,} (an "
        f"estimate: {characters:,} characters to read, {answer:,} tokens to answer); {advice}.",
        used=NOTHING_USED,
    )


def _tokens(characters: int, each: int) -> int:
    return -(-characters // each)
