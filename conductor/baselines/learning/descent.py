"""The learners share softmax, batches and the optimizer AdamW. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from conductor.baselines.learning.vectors import Indexes, Matrix

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
