"""A small tokenizer in its own file, and texts that are hard to cut into tokens."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HARD = (
    "",
    " ",
    "  two  spaces  ",
    "\n\n",
    "日本語のテキスト",
    "e\u0301clair",
    "\U0001f469\u200d\U0001f467 family",
    "a\ud800b",
    "x" * 300,
)


def write_tokenizer(path: Path, *, limit: int | None = None) -> Path:
    """A byte-level tokenizer that knows some words whole; with `limit` the file asks to cut texts there."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    model.train_from_iterator(["the answer to the question is the number of the step"] * 20, trainer)
    if limit is not None:
        model.enable_truncation(limit)
        model.enable_padding(length=limit)
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(str(path))
    return path


def whole_count(path: Path, text: str) -> int:
    """How many tokens the library itself finds in a text."""
    model = Tokenizer.from_str(json.dumps(json.loads(path.read_text(encoding="utf-8"))))
    model.no_truncation()
    model.no_padding()
    return len(model.encode(text, add_special_tokens=False).ids)
