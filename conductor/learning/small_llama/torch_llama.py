"""The small Llama in torch: made, stored, sampled from, and how probable it holds a text to be.

Imports torch and transformers, so only what trains imports this. Prompts are padded on the left where they
are sampled from; a token is an int, a batch of them has the shape (rows, tokens).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from conductor.learning.small_llama.folder import END, PAD, Weights
from conductor.planner.local.local_prompt import NameMask

SHRINK = 0.75
"""Where fewer rows than this share go on, the others leave the batch."""


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer with the tokens that end and fill, and the mask of workers' names."""

    tokenizer: Tokenizer
    names: NameMask
    end: int
    pad: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, workers: Sequence[str]) -> Vocabulary:
        end, pad = map(tokenizer.token_to_id, (END, PAD))
        assert end is not None
        assert pad is not None
        return cls(tokenizer, NameMask.of(tokenizer, workers), end, pad)

    def ids(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return tokens

    def text(self, ids: Sequence[int]) -> str:
        content: str = self.tokenizer.decode([*ids], skip_special_tokens=True)
        return content


@dataclass(frozen=True)
class Sampled:
    """Completions: `ids` has prompts and completions (rows, tokens), completions from column `width` on.

    `forbidden` (rows, vocabulary) are the tokens that a row might not have before its list of workers ended.
    """

    ids: Any
    width: int
    texts: list[str]
    forbidden: Any


def new_model(config: Mapping[str, Any], *, seed: int) -> Any:
    """A model of random weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**config))


def weights_of(model: Any) -> Weights:
    """The weights to store: those of the output are the embedding's."""
    return {
        name: np.asarray(tensor.detach().float().cpu().numpy())
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }


def sample(
    model: Any,
    vocabulary: Vocabulary,
    prompts: Sequence[str],
    offered: Sequence[Sequence[str]],
    *,
    repeats: int = 1,
    generator: Any = None,
    temperature: float = 1.0,
    most: int = 128,
) -> Sampled:
    """`repeats` completions of each prompt, in order; the most probable one where there is no `generator`.

    `offered` are the names of each prompt's pool; others are masked. A prompt is read once for all repeats.
    """
    ids, mask = _left_padded([vocabulary.ids(prompt) for prompt in prompts], vocabulary.pad)
    forbidden = torch.zeros(len(prompts), model.config.vocab_size, dtype=torch.bool)
    for row, names in enumerate(offered):
        forbidden[row, sorted(vocabulary.names.forbidden(names))] = True
    forbidden = forbidden.repeat_interleave(repeats, 0)
    ends = torch.tensor(sorted(vocabulary.names.ends))
    rows, width = len(prompts) * repeats, ids.shape[1]
    sequences = torch.full((rows, width + most), vocabulary.pad)
    sequences[:, :width] = ids.repeat_interleave(repeats, 0)
    alive, naming = torch.arange(rows), torch.ones(rows, dtype=torch.bool)
    cache = DynamicCache(config=model.config)
    model.eval()
    with torch.inference_mode():
        place = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = _next(model, ids, mask, place, cache)
        place = place[:, -1:] + 1
        if repeats > 1:
            cache.batch_repeat_interleave(repeats)
            mask, place, logits = (each.repeat_interleave(repeats, 0) for each in (mask, place, logits))
        for at in range(width, width + most):
            logits = logits.masked_fill(forbidden[alive] & naming[alive][:, None], -torch.inf)
            token = (
                logits.argmax(-1, keepdim=True)
                if generator is None
                else torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)
            )
            sequences[alive, at] = token[:, 0]
            naming[alive] &= ~torch.isin(token[:, 0], ends)
            going = token[:, 0] != vocabulary.end
            if not going.any() or at == width + most - 1:
                break
            if going.float().mean() < SHRINK:
                places = going.nonzero()[:, 0]
                cache.batch_select_indices(places)
                alive, mask, token, place = (each[places] for each in (alive, mask, token, place))
            mask = torch.cat([mask, mask.new_ones(len(alive), 1)], 1)
            logits = _next(model, token, mask, place, cache)
            place = place + 1
    completions = sequences[:, width:]
    ended = (completions == vocabulary.end).int()
    completions[(ended.cumsum(1) - ended) > 0] = vocabulary.pad  # Rows that had ended and stayed.
    longest = int((completions != vocabulary.pad).any(0).sum())
    texts = [vocabulary.text(row) for row in completions.tolist()]
    return Sampled(sequences[:, : width + longest].clone(), width, texts, forbidden)


def _next(model: Any, ids: Any, mask: Any, place: Any, cache: Any) -> Any:
    """The logits of the token behind each row."""
    step = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=place,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return step.logits[:, -1].float()


def completion_log_probabilities(model: Any, vocabulary: Vocabulary, sampled: Sampled, rows: Any) -> Any:
    """The logarithm of the probability of each token of the completions in `rows`: (rows, tokens), and which
    tokens count. Probabilities are those that were sampled from, with the masked names left out.
    """
    ids = sampled.ids[rows]
    mask = (ids != vocabulary.pad).long()
    place = (mask.cumsum(-1) - 1).clamp(min=0)
    tokens = ids[:, sampled.width :]
    positions = tokens.shape[1] + 1
    logits = model(input_ids=ids, attention_mask=mask, position_ids=place, logits_to_keep=positions).logits[
        :, :-1
    ]
    ended = torch.isin(tokens, torch.tensor(sorted(vocabulary.names.ends))).int()
    naming = (ended.cumsum(1) - ended) == 0
    logits = logits.float().masked_fill(sampled.forbidden[rows][:, None] & naming[..., None], -1e9)
    likelihoods = -cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none").view(tokens.shape)
    return likelihoods, mask[:, sampled.width :]


@dataclass(frozen=True)
class Texts:
    """Prompts with their completions, padded on the right: three tensors of shape (rows, tokens).

    `prompt` and `completion` are 1 where a token belongs to that part and has one before it.
    """

    ids: Any
    prompt: Any
    completion: Any

    @classmethod
    def of(cls, vocabulary: Vocabulary, rows: Sequence[tuple[str, str]]) -> Texts:
        parts = [
            (vocabulary.ids(prompt), [*vocabulary.ids(completion), vocabulary.end])
            for prompt, completion in rows
        ]
        width = max(len(prompt) + len(completion) for prompt, completion in parts)
        ids = torch.full((len(parts), width), vocabulary.pad)
        in_prompt, in_completion = torch.zeros(2, len(parts), width)
        for row, (prompt, completion) in enumerate(parts):
            end = len(prompt) + len(completion)
            ids[row, :end] = torch.tensor(prompt + completion)
            in_prompt[row, 1 : len(prompt)] = 1
            in_completion[row, len(prompt) : end] = 1
        return cls(ids, in_prompt, in_completion)


def log_probabilities(model: Any, vocabulary: Vocabulary, texts: Texts) -> Any:
    """The logarithm of the probability of each token (rows, tokens), 0 for the first of a row."""
    ids = texts.ids
    logits = model(input_ids=ids, attention_mask=(ids != vocabulary.pad).long()).logits[:, :-1].float()
    likelihoods = -cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return torch.nn.functional.pad(likelihoods.view(len(ids), -1), (1, 0))


def _left_padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    width = max(map(len, rows))
    ids = torch.tensor([[pad] * (width - len(row)) + [*row] for row in rows])
    return ids, (ids != pad).long()
