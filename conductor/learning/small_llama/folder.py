"""A Conductor's folder: a Llama as Hugging Face stores one, with its tokenizer and its card.

transformers and vLLM load it, and so does the runtime without torch. Knows file formats; weights are numpy's.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from conductor.planner.local.card import CARD, ConductorCard, Confidence
from conductor.planner.local.local_conductor import LocalConductor
from conductor.planner.local.local_prompt import WORKER_LIST
from conductor.workers.pool.schema import LocalConductorTable

PAD, END = "<pad>", "<eos>"

_PHRASES = (
    re.escape(WORKER_LIST),
    r"\]\nsubtasks = \[\"",
    r"\.?\"\]\naccess_list = \[",
    r"\.?\", \"",
    r"\[\]",
    r" \[",
    r" ?\d",
    r" ?'",
    r"[\[\]\",.?:\n]",
    r" ?[A-Za-z]+",
    r" ",
)
"""What is one piece before BPE: fixed phrases, words, and digits one by one, so that they can be copied."""


def make_tokenizer(texts: Iterable[str], names: Sequence[str], *, size: int = 1024) -> Tokenizer:
    """A tokenizer of at most `size` tokens for these texts; each worker's name in `names` is one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(_PHRASES)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    # Often enough that BPE joins each name whole, whatever the texts are.
    named = [f"{WORKER_LIST}{name}, {name}, {name}]" for name in names] * 200
    tokenizer.train_from_iterator([*named, *texts], trainer)
    return tokenizer


Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that transformers gives the parameters of `LlamaForCausalLM`."""

LEAST = 32
"""The smallest head that vLLM serves on every device."""


def with_wide_heads(config: Mapping[str, Any], weights: Weights) -> tuple[Mapping[str, Any], Weights]:
    """The same Llama with heads of at least 32 numbers, as vLLM's kernels for attention need them; both as
    they are where heads are wide enough, or their size does not divide `LEAST`.

    A head's added numbers are zero, so that they change no product. Positions turn pairs by angles that
    depend on the place in a head (https://arxiv.org/abs/2104.09864): each pair moves to the place with its
    angle. Products are divided by the root of a head's size, for which the queries make up.
    """
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


CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""The chat template: the one message of a small Conductor is its prompt, as it is."""


def llama_config(
    tokenizer: Tokenizer, *, hidden: int = 64, layers: int = 3, heads: int = 4, context: int = 1024
) -> dict[str, Any]:
    """A Llama's `config.json`: as set here some 0.2 M parameters, input and output embeddings shared."""
    size = tokenizer.get_vocab_size()
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": (size + 63) // 64 * 64,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        "rope_theta": 10_000.0,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "bos_token_id": None,
        "eos_token_id": tokenizer.token_to_id(END),
        "pad_token_id": tokenizer.token_to_id(PAD),
        "use_cache": True,
    }


def write_folder(
    folder: Path, *, config: Mapping[str, Any], tokenizer: Tokenizer, weights: Weights, card: ConductorCard
) -> None:
    """Write the folder, in the place of one that is there; an interruption leaves the old one or none.

    Heads are written as wide as vLLM needs them, which changes no plan.
    """
    config, weights = with_wide_heads(config, weights)
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    _write(fresh / "config.json", config)
    _write(
        fresh / "generation_config.json",
        {key: config[key] for key in ("eos_token_id", "pad_token_id")}
        | {"do_sample": False, "max_new_tokens": card.max_tokens},
    )
    _write(
        fresh / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": PAD,
            "eos_token": END,
            "padding_side": "left",
            "clean_up_tokenization_spaces": False,
            "model_max_length": config["max_position_embeddings"],
            "chat_template": CHAT,
        },
    )
    tokenizer.save(str(fresh / "tokenizer.json"))
    (fresh / CARD).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")
    (fresh / "model.safetensors").write_bytes(as_safetensors(weights))
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def as_safetensors(weights: Weights) -> bytes:
    """The arrays as a safetensors file: the length of its header, the header as JSON, the bytes in order.

    Source: https://github.com/huggingface/safetensors, "Format".
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    pieces: list[bytes] = []
    at = 0
    for name in sorted(weights):
        piece = np.ascontiguousarray(weights[name], dtype="<f4").tobytes()
        shape = list(weights[name].shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(piece)]}
        pieces.append(piece)
        at += len(piece)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return b"".join([len(head).to_bytes(8, "little"), head, *pieces])


UNSURE = 0.05
"""The share of its own questions below each limit, which a Conductor leaves to the rules; with it the shipped
one hands over nearly all questions of other worlds.
"""


def confidence_in(folder: Path, samples: Iterable[tuple[str, Sequence[str]]]) -> Confidence:
    """The limits for the Conductor in `folder`, from questions of its world with the names of their pools."""
    conductor = LocalConductor(LocalConductorTable(kind="local", model=str(folder)))
    written = [conductor.write(query, workers)[1] for query, workers in samples]
    at = int(UNSURE * len(written))
    questions = sorted(each.read_mean or 0.0 for each in written)
    plans = sorted(each.mean for each in written)
    return Confidence(question=round(questions[at], 4), plan=round(plans[at], 4))
