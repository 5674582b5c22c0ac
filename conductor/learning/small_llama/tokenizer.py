"""The tokenizer of a small Conductor, made from texts: byte-level BPE that keeps words and digits apart.

Knows `tokenizers`, and how a plan is written; knows neither torch nor transformers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from conductor.planner.local.local_prompt import WORKER_LIST

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
