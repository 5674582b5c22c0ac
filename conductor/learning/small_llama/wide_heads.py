"""The same Llama with heads of at least 32 numbers, as vLLM's kernels for attention need them.

Pure: arrays in, arrays out. A head's added numbers are zero, so that they change no product. Positions turn
pairs by angles that depend on the place in a head (https://arxiv.org/abs/2104.09864): each pair moves to the
place with its angle. Products are divided by the root of a head's size, for which the queries make up.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that transformers gives the parameters of `LlamaForCausalLM`."""

LEAST = 32
"""The smallest head that vLLM serves on every device."""


def with_wide_heads(config: Mapping[str, Any], weights: Weights) -> tuple[Mapping[str, Any], Weights]:
    """Both as they are where heads are wide enough, or their size does not divide `LEAST`."""
    size = config["head_dim"]
    if size >= LEAST or LEAST % size:
        return config, weights
    times = LEAST // size
    places = {
        "q": _turned(size, times),
        "k": _turned(size, times),
        "v": np.arange(size),
        "o": np.arange(size),
    }

    def widened(name: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
        _, _, part = name.rpartition(".self_attn.")
        kind = part.removesuffix("_proj.weight")
        if kind not in places:
            return array
        rows = array.T if kind == "o" else array
        heads = rows.reshape(-1, size, rows.shape[-1])
        wide = np.zeros((len(heads), LEAST, rows.shape[-1]), np.float32)
        wide[:, places[kind]] = heads * (sqrt(times) if kind == "q" else 1)
        matrix = wide.reshape(-1, rows.shape[-1])
        return matrix.T if kind == "o" else matrix

    return {**config, "head_dim": LEAST}, {name: widened(name, array) for name, array in weights.items()}


def _turned(size: int, times: int) -> NDArray[np.intp]:
    """Where each number of a head goes so that its pair is turned by the angles that it had."""
    first = np.arange(size // 2) * times
    return np.concatenate([first, first + LEAST // 2])
