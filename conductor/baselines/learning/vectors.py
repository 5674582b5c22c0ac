"""Vectors of texts, as rows: counted words by hash, weighted, and at length 1. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
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
