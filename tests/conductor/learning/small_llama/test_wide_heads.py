"""A Llama with wider heads is the same Llama."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conductor.learning.small_llama.folder import LEAST, as_safetensors, with_wide_heads
from conductor.llama.numpy_llama import read_llama
from tests.support.runs.local_conductor import TEXTS, random_weights, write_untrained

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("heads", "shared", "size"), [(4, 4, 16), (8, 8, 8), (8, 2, 8)])
def test_every_text_is_continued_alike(tmp_path: Path, heads: int, shared: int, size: int):
    narrow, wide = (write_untrained(tmp_path / name) for name in ("narrow", "wide"))
    config = json.loads((narrow / "config.json").read_text(encoding="utf-8"))
    config |= {"num_attention_heads": heads, "num_key_value_heads": shared, "head_dim": size}
    weights = dict(random_weights(config, seed=1))
    for name in list(weights):
        if name.endswith(("k_proj.weight", "v_proj.weight")):
            weights[name] = weights[name][: shared * size]
    for folder, (settings, arrays) in ((narrow, (config, weights)), (wide, with_wide_heads(config, weights))):
        (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        (folder / "model.safetensors").write_bytes(as_safetensors(arrays))
    one, other = read_llama(narrow), read_llama(wide)
    assert (one.config.head_dim, other.config.head_dim) == (size, LEAST)
    for text in TEXTS:
        tokens = one.read(text)
        first, second = (llama.write(tokens, most=20, forbidden=lambda _: ()) for llama in (one, other))
        assert first.tokens == second.tokens
        assert np.isclose(first.mean, second.mean, rtol=1e-3)


@pytest.mark.parametrize("size", [32, 64, 24])
def test_heads_that_are_wide_enough_or_fit_no_width_are_left(size: int):
    config = {"head_dim": size}
    assert with_wide_heads(config, {}) == (config, {})
