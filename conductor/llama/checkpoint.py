"""A Llama's folder as Hugging Face writes it: its configuration and its weights, checked against each other.

Knows files and shapes; computes nothing. What is wrong with a folder is a `PoolError` that names the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from conductor.errors import FormatError, PoolError
from conductor.files.named_file import read_bounded
from conductor.text.bounded_value import json_value

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"

MOST_BYTES = 100_000_000
"""The most that a file of weights may have: 25 million parameters, some seconds a plan without a GPU."""

_MOST_CONFIG_BYTES = 1_000_000

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that transformers gives the parameters of `LlamaForCausalLM`."""

_Size = Annotated[int, Field(ge=1)]


class _Rope(BaseModel):
    model_config = ConfigDict(frozen=True)

    rope_type: Literal["default"] = "default"
    rope_theta: Annotated[float, Field(gt=1)] = 10_000.0


class LlamaConfig(BaseModel):
    """What of a `config.json` decides how a Llama computes; what it may not have is refused."""

    model_config = ConfigDict(frozen=True)

    model_type: Literal["llama"]
    vocab_size: _Size
    hidden_size: _Size
    intermediate_size: _Size
    num_hidden_layers: _Size
    num_attention_heads: _Size
    num_key_value_heads: _Size
    head_dim: _Size
    hidden_act: Literal["silu"] = "silu"
    max_position_embeddings: _Size
    rms_norm_eps: Annotated[float, Field(gt=0)]
    rope_parameters: _Rope
    tie_word_embeddings: bool = False
    attention_bias: Literal[False] = False
    mlp_bias: Literal[False] = False
    eos_token_id: int

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, document: Any) -> Any:
        """With what older files leave out."""
        if not isinstance(document, dict) or document.get("rope_scaling"):
            return document
        heads = document.get("num_attention_heads")
        filled: dict[str, Any] = {"num_key_value_heads": heads, "rope_parameters": {}}
        if isinstance(heads, int) and isinstance(document.get("hidden_size"), int) and heads > 0:
            filled["head_dim"] = document["hidden_size"] // heads
        if "rope_theta" in document:
            filled["rope_parameters"] = {"rope_theta": document["rope_theta"]}
        return filled | {key: value for key, value in document.items() if value is not None}

    @model_validator(mode="after")
    def _divides(self) -> LlamaConfig:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError("num_key_value_heads does not divide num_attention_heads")
        if self.head_dim % 2:
            raise ValueError("head_dim is odd, and positions turn pairs")
        return self

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The shape of each parameter, by name."""
        wide, inner = self.hidden_size, self.intermediate_size
        heads, shared = (n * self.head_dim for n in (self.num_attention_heads, self.num_key_value_heads))
        yield "model.embed_tokens.weight", (self.vocab_size, wide)
        yield "model.norm.weight", (wide,)
        if not self.tie_word_embeddings:
            yield "lm_head.weight", (self.vocab_size, wide)
        for layer in range(self.num_hidden_layers):
            place = f"model.layers.{layer}"
            yield f"{place}.input_layernorm.weight", (wide,)
            yield f"{place}.post_attention_layernorm.weight", (wide,)
            yield f"{place}.self_attn.q_proj.weight", (heads, wide)
            yield f"{place}.self_attn.k_proj.weight", (shared, wide)
            yield f"{place}.self_attn.v_proj.weight", (shared, wide)
            yield f"{place}.self_attn.o_proj.weight", (wide, heads)
            yield f"{place}.mlp.gate_proj.weight", (inner, wide)
            yield f"{place}.mlp.up_proj.weight", (inner, wide)
            yield f"{place}.mlp.down_proj.weight", (wide, inner)


def read_checkpoint(folder: Path) -> tuple[LlamaConfig, Weights]:
    """The configuration and the weights in `folder`. Raises `PoolError`."""
    config = _config(folder)
    file = folder / WEIGHTS
    stored = _tensors(file, _content(file, most=MOST_BYTES))
    weights = {}
    for name, shape in config.shapes():
        tensor = stored.get(name)
        if tensor is None:
            raise PoolError(f"{file} has no {name}, which its {CONFIG} requires; write the folder again.")
        if tensor.shape != shape:
            raise PoolError(
                f"{file}: {name} has the shape {_shape_text(tensor.shape)}, and its {CONFIG} requires "
                f"{_shape_text(shape)}; write the folder again."
            )
        if not np.isfinite(tensor).all():
            raise PoolError(f"{file}: {name} has values that are not numbers; train it again.")
        weights[name] = tensor
    return config, weights


def _shape_text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of one number"


def _content(file: Path, *, most: int) -> bytes:
    try:
        return read_bounded(file, most=most, kind="a Conductor that runs in this program")
    except FormatError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            raise PoolError(
                f"{file.parent} has no {file.name}; name a folder that `conductor learn` wrote."
            ) from error
        advice = "" if error.__cause__ else " `conductor vllm --model FOLDER` serves models of any size."
        raise PoolError(f"{error}{advice}") from error


def _config(folder: Path) -> LlamaConfig:
    file = folder / CONFIG
    content = _content(file, most=_MOST_CONFIG_BYTES)
    try:
        document = json_value(content)
    except ValueError as error:
        raise PoolError(f"{file} is not JSON; write the folder again.") from error
    kind = document.get("model_type") if isinstance(document, dict) else None
    if kind != "llama":
        raise PoolError(
            f"{file} describes a model of the type {str(kind)[:40]!r}, and only a llama runs in this "
            f"program; serve it with `conductor vllm --model {folder}`."
        )
    try:
        return LlamaConfig.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        raise PoolError(
            f"{file}, {key}: {first['msg'].removeprefix('Value error, ')}. Only plain Llamas run in this "
            f"program; serve others with `conductor vllm --model {folder}`."
        ) from error


def _tensors(file: Path, content: bytes) -> dict[str, NDArray[np.float32]]:
    """The arrays of a safetensors file: the length of its header, the header as JSON, their bytes.

    Source: https://github.com/huggingface/safetensors, "Format".
    """
    broken = PoolError(f"{file} is not a whole safetensors file; write the folder again.")
    size = int.from_bytes(content[:8], "little")
    data = memoryview(content)[8 + size :]
    try:
        header = json_value(content[8 : 8 + size])
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        tensors = {}
        for name, entry in entries.items():
            if entry["dtype"] != "F32":
                raise PoolError(
                    f"{file} stores {name[:80]} as {str(entry['dtype'])[:20]}; save the model in float32."
                )
            begin, end = entry["data_offsets"]
            shape = tuple(entry["shape"])
            if not 0 <= begin <= end <= len(data) or end - begin != 4 * prod(shape):
                raise broken
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(shape)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken from error
    return tensors
