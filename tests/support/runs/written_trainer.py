"""TRL's trainer for tests of rollouts, without TRL: it hands out written completions, a token a character."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any


class LettersTokenizer:
    """A token a character."""

    bos_token = None

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}

    def apply_chat_template(
        self,
        chat: Sequence[dict[str, str]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        continue_final_message: bool,
    ) -> str:
        assert not tokenize
        assert add_generation_prompt != continue_final_message == (chat[-1]["role"] == "assistant")
        return "".join(message["content"] for message in chat)

    def batch_decode(self, ids: Sequence[Sequence[int]], **_: object) -> list[str]:
        return ["".join(map(chr, each)) for each in ids]


class WrittenTrainer:
    """Answers each round with written completions, and stores what it was sent."""

    def __init__(self, *rounds: Sequence[str]) -> None:
        self._rounds = iter(rounds)
        self.prompts: list[list[str]] = []
        self.metrics: dict[str, float] = {}
        self.accelerator = SimpleNamespace(process_index=0, num_processes=1)

    def _generate_single_turn(self, ids: Any, _images: None, _fields: Any, _each: int) -> Any:
        self.prompts.append(LettersTokenizer().batch_decode(ids))
        return [[ord(letter) for letter in text] for text in next(self._rounds)], None

    def _log_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value
