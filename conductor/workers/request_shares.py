"""A request's shares as the worker that was sent it counts them. Kept by request, for redraws.

Knows the kinds of workers and their cards; how amounts are made of counts is provenance's.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from conductor.messages import Request
from conductor.output import WorkerKind
from conductor.provenance import Shares, counted, estimated, measured
from conductor.workers.protocol import WorkerCard
from conductor.workers.tokenizer import Tokenizer, read_tokenizer, stretches

REQUESTS_KEPT = 64
"""Requests whose shares stay in memory: pages ask for the same ones again and again."""


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
