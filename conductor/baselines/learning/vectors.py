"""Vectors of texts, as rows: counted words by hash, weighted, and at length 1. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indexes = NDArray[np.intp]

SIZE = 512
"""Into how many places words are hashed."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|[^\w\s]")


def inverse_frequencies(texts: Sequence[str]) -> tuple[float, ...]:
    """Each place's weight: its smoothed inverse document frequency in these texts."""
    among = np.count_nonzero(_counts(texts), axis=0)
    weights = np.log((1 + len(texts)) / (1 + among)) + 1
    return tuple(round(float(weight), 5) for weight in weights)


def shared_places(texts: Sequence[str]) -> tuple[float, ...]:
    """Each place's weight: 1 for what several of these texts have, 0 for the rest, such as names."""
    among = np.count_nonzero(_counts(texts), axis=0)
    return tuple(float(count > 1) for count in among)


def weighted_counts(texts: Sequence[str], weights: Sequence[float]) -> Matrix:
    """A row at length 1 for each text."""
    return unit(_counts(texts) * np.array(weights))


def from_lists(rows: Sequence[Sequence[float]]) -> Matrix:
    """These rows, each at length 1."""
    return unit(np.array(rows, dtype=np.float64))


def unit(rows: Matrix) -> Matrix:
    """Each row at length 1; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Matrix = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return units


def _counts(texts: Sequence[str]) -> Matrix:
    """How often each place's words stand in each text; half of the words count down, so that words which
    share a place do not add up.
    """
    counts = np.zeros((len(texts), SIZE))
    for row, text in enumerate(texts):
        words = ["0" if word[0].isdigit() else word for word in _WORD.findall(text.casefold())]
        pairs = [f"{one} {other}" for one, other in pairwise(words)]
        for term, count in Counter(words + pairs).items():
            hashed = crc32(term.encode())
            counts[row, hashed % SIZE] += count if hashed & 1 << 31 else -count
    return counts


_STATED = 5
"""Digits of a stored number."""


def softmax(logits: Matrix) -> Matrix:
    """Of each row."""
    raised: Matrix = np.exp(logits - logits.max(axis=1, keepdims=True))
    share: Matrix = raised / raised.sum(axis=1, keepdims=True)
    return share


def batches(count: int, steps: int, size: int, draw: np.random.Generator) -> Iterator[Indexes]:
    """So many batches of rows, each row once before any comes again."""
    left = np.empty(0, dtype=np.intp)
    for _ in range(steps):
        if not len(left):
            left = draw.permutation(count)
        yield left[:size]
        left = left[size:]


class AdamW:
    """Changes `parameters` in place, downwards, with torch's defaults but for the rate."""

    def __init__(self, *parameters: Matrix, rate: float) -> None:
        self._parameters = parameters
        self._rate = rate
        self._first = [np.zeros_like(each) for each in parameters]
        self._second = [np.zeros_like(each) for each in parameters]
        self._steps = 0

    def step(self, gradients: Sequence[Matrix]) -> None:
        self._steps += 1
        for at, gradient in enumerate(gradients):
            self._first[at] += 0.1 * (gradient - self._first[at])
            self._second[at] += 0.001 * (gradient**2 - self._second[at])
            even = self._first[at] / (1 - 0.9**self._steps)
            size = np.sqrt(self._second[at] / (1 - 0.999**self._steps))
            own = self._parameters[at]
            own -= self._rate * (even / (size + 1e-8) + 0.01 * own)


def stated(values: Matrix) -> tuple[tuple[float, ...], ...]:
    """As it is stored."""
    return tuple(tuple(float(f"{value:.{_STATED}g}") for value in row) for row in values)
