"""A Llama in numpy: the forward pass with a cache of keys and values, and text token by token.

Gives the text that transformers gives. Knows arrays and a tokenizer; knows nothing of plans.

Sources: Touvron et al. 2023, https://arxiv.org/abs/2302.13971; Su et al. 2021 (rotary positions),
https://arxiv.org/abs/2104.09864, with the halves of a head turned as pairs, as in transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conductor.errors import PoolError
from conductor.llama.checkpoint import CONFIG, TOKENIZER, WEIGHTS, LlamaConfig, Weights, read_checkpoint

if TYPE_CHECKING:
    import tokenizers

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class _Layer:
    """One block's weights, transposed and joined: `reads` is q, k and v, `opens` gate and up."""

    before_attention: Floats
    reads: Floats
    writes: Floats
    before_mlp: Floats
    opens: Floats
    closes: Floats


class Cache:
    """Keys and values of what was read so far, by layer: heads x positions x head size."""

    def __init__(self, config: LlamaConfig, positions: int) -> None:
        shape = (config.num_hidden_layers, config.num_key_value_heads, positions, config.head_dim)
        self.keys: Floats = np.empty(shape, np.float32)
        self.values: Floats = np.empty(shape, np.float32)
        self.length = 0


@dataclass(frozen=True)
class Written:
    """A continuation: its tokens without the one that ends it, and whether that came.

    The means are of the natural logarithms of the tokens' probabilities: `read_mean` over the prompt's first
    tokens without the very first (or None), `mean` over those written, with the end.
    """

    tokens: tuple[int, ...]
    text: str
    ended: bool
    read_mean: float | None
    mean: float


class Llama:
    """A Llama and its tokenizer. Made by `read_llama`."""

    def __init__(self, config: LlamaConfig, weights: Weights, tokenizer: tokenizers.Tokenizer) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self._embeddings = weights["model.embed_tokens.weight"]
        self._last_norm = weights["model.norm.weight"]
        head = "model.embed_tokens.weight" if config.tie_word_embeddings else "lm_head.weight"
        self._head = np.ascontiguousarray(weights[head].T)
        self._layers = tuple(_layer(weights, f"model.layers.{at}") for at in range(config.num_hidden_layers))
        size = config.head_dim
        turns = config.rope_parameters.rope_theta ** (-np.arange(0, size, 2, dtype=np.float32) / size)
        angles = np.outer(np.arange(config.max_position_embeddings, dtype=np.float32), turns)
        self._cosines: Floats = np.tile(np.cos(angles), 2).astype(np.float32)
        self._sines: Floats = np.tile(np.sin(angles), 2).astype(np.float32)

    def logits(self, ids: Sequence[int], cache: Cache) -> Floats:
        """The logits behind each of `ids`, which follow what `cache` holds: tokens x vocabulary."""
        config, past, count = self.config, cache.length, len(ids)
        cache.length = end = past + count
        key_heads, size = config.num_key_value_heads, config.head_dim
        each = config.num_attention_heads // key_heads
        places = slice(past, end)
        later = np.triu(np.full((count, count), -np.inf, np.float32), 1) if count > 1 else None
        x = self._embeddings[np.asarray(ids)]
        for at, layer in enumerate(self._layers):
            read = _product(self._norm(x, layer.before_attention), layer.reads)
            heads = read.reshape(count, -1, size).transpose(1, 0, 2)
            queries, keys, values = np.split(heads, (key_heads * each, key_heads * each + key_heads))
            cache.keys[at, :, places] = self._turned(keys, places)
            cache.values[at, :, places] = values
            # Several heads may share their keys: shared heads x heads of each x tokens x head size.
            by_key_head = self._turned(queries, places).reshape(key_heads, each, count, size)
            scores = by_key_head @ cache.keys[at, :, None, :end].swapaxes(-1, -2)
            scores *= np.float32(size**-0.5)
            if later is not None:
                scores[..., past:] += later
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ cache.values[at, :, None, :end]).reshape(-1, count, size)
            x = x + _product(seen.transpose(1, 0, 2).reshape(count, -1), layer.writes)
            opened = _product(self._norm(x, layer.before_mlp), layer.opens)
            gate, up = np.split(opened, 2, axis=-1)
            # SiLU; the logistic function as a hyperbolic tangent overflows nowhere.
            x = x + _product(
                (gate * (np.float32(0.5) + np.float32(0.5) * np.tanh(gate / 2)) * up), layer.closes
            )
        return _product(self._norm(x, self._last_norm), self._head)

    def _norm(self, x: Floats, weight: Floats) -> Floats:
        scale: Floats = np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.config.rms_norm_eps))
        normed: Floats = x / scale * weight
        return normed

    def _turned(self, heads: Floats, places: slice) -> Floats:
        half = self.config.head_dim // 2
        crossed = np.concatenate([-heads[..., half:], heads[..., :half]], -1)
        return np.asarray(heads * self._cosines[places] + crossed * self._sines[places], np.float32)

    def read(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def write(
        self,
        prompt: Sequence[int],
        *,
        most: int,
        forbidden: Callable[[Sequence[int]], Collection[int]],
        measured: int | None = None,
        temperature: float = 0.0,
        draw: np.random.Generator | None = None,
    ) -> Written:
        """Continue `prompt` by at most `most` tokens, as far as there are positions for them.

        The first `measured` tokens of the prompt (None: all) give the `read_mean`.
        `forbidden` gives the tokens that may not follow those written so far. The likeliest token is taken
        at temperature 0, else one that `draw` chooses. Raises `ValueError` where the prompt has no token.
        """
        if not prompt:
            raise ValueError("there is nothing to continue")
        most = min(most, self.config.max_position_embeddings - len(prompt))
        cache = Cache(self.config, len(prompt) + max(most, 0))
        logits = self.logits(prompt, cache)
        first = prompt[1:measured]
        following = _log_softmax(logits[: len(first)])[np.arange(len(first)), first]
        tokens: list[int] = []
        total, ended, last = 0.0, False, logits[-1]
        while len(tokens) < most and not ended:
            if refused := forbidden(tokens):
                last[list(refused)] = -np.inf
            token = _chosen(last, temperature, draw)
            total += float(_log_softmax(last)[token])
            ended = token == self.config.eos_token_id
            if not ended:
                tokens.append(token)
                if len(tokens) < most:
                    last = self.logits([token], cache)[-1]
        return Written(
            tokens=tuple(tokens),
            text=self.tokenizer.decode(tokens, skip_special_tokens=True),
            ended=ended,
            read_mean=float(following.mean()) if len(following) else None,
            mean=total / max(len(tokens) + ended, 1),
        )


def _layer(weights: Weights, place: str) -> _Layer:
    def joined(*names: str) -> Floats:
        return np.ascontiguousarray(np.concatenate([weights[f"{place}.{name}.weight"] for name in names]).T)

    return _Layer(
        before_attention=weights[f"{place}.input_layernorm.weight"],
        reads=joined("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        writes=joined("self_attn.o_proj"),
        before_mlp=weights[f"{place}.post_attention_layernorm.weight"],
        opens=joined("mlp.gate_proj", "mlp.up_proj"),
        closes=joined("mlp.down_proj"),
    )


_ONE_THREAD = 1 << 18
"""Multiplications of a product of matrices up to which OpenBLAS keeps to one thread."""


def _product(x: Floats, weight: Floats) -> Floats:
    """The rows of `x` times a matrix, on one thread where the matrix is small.

    OpenBLAS would wake its other threads for every one of a small model's many products, and for those of a
    single row however small they are: on busy cores that takes ten times as long as the products.
    """
    rows = _ONE_THREAD // weight.size - 1
    if rows < 2:
        return np.asarray(x @ weight, np.float32)
    if len(x) == 1:
        return np.asarray((np.concatenate([x, x]) @ weight)[:1], np.float32)
    cuts = range(rows, len(x) - 1, rows)
    return np.concatenate([part @ weight for part in np.split(x, cuts)])


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


def _chosen(logits: Floats, temperature: float, draw: np.random.Generator | None) -> int:
    if temperature <= 0 or draw is None:
        return int(logits.argmax())
    # The largest of logits with Gumbel noise is a sample of their softmax.
    return int((logits / temperature + draw.gumbel(size=len(logits))).argmax())


# -- from its folder -----------------------------------------------------------------------------------

_CACHED_FOLDERS = 4


def read_llama(folder: Path) -> Llama:
    """The model in `folder`; one that is read already as long as its files are the same.

    Raises `PoolError` where a file is missing or broken, or where it is no small Llama.
    """
    return _read(folder, *map(_state, (folder / name for name in (CONFIG, WEIGHTS, TOKENIZER))))


def _state(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_CACHED_FOLDERS)
def _read(folder: Path, *_states: tuple[int, int] | None) -> Llama:
    import tokenizers  # noqa: PLC0415 - what is wrong with the other files is found without it

    if not folder.is_dir():
        raise PoolError(f"{folder} is not a folder; name one that `conductor learn` wrote.")
    config, weights = read_checkpoint(folder)
    file = folder / TOKENIZER
    if not file.is_file():
        raise PoolError(f"{folder} has no {TOKENIZER}; name a folder that `conductor learn` wrote.")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more precise
        raise PoolError(
            f"{file} is not a tokenizer.json of the tokenizers library: {str(error)[:200]}."
        ) from error
    if (size := tokenizer.get_vocab_size()) > config.vocab_size:
        raise PoolError(
            f"{file} has {size:,} tokens, and the model of {CONFIG} knows {config.vocab_size:,}; the "
            "files are of different models."
        )
    if not 0 <= config.eos_token_id < config.vocab_size:
        raise PoolError(f"{folder / CONFIG}: eos_token_id is not a token of the model.")
    return Llama(config, weights, tokenizer)
