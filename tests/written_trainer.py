"""TRL's trainer for tests of rollouts, without TRL: it hands out written completions, a token a character."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class LettersTokenizer:
    """A token a character."""

    def apply_chat_template(self, chat: Sequence[dict[str, str]], **_: object) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for message in chat for letter in message["content"]]}

    def batch_decode(self, ids: Sequence[Sequence[int]], **_: object) -> list[str]:
        return ["".join(map(chr, each)) for each in ids]


class WrittenTrainer:
    """Answers each round with written completions, and keeps what it was sent."""

    def __init__(self, *rounds: Sequence[str]) -> None:
        self._rounds = iter(rounds)
        self.prompts: list[list[str]] = []
        self.metrics: dict[str, float] = {}
        self.async_loop = asyncio.new_event_loop()

    def _generate_single_turn(self, ids: Any, _images: None, _fields: Any, _each: int) -> Any:
        self.prompts.append(LettersTokenizer().batch_decode(ids))
        return [[ord(letter) for letter in text] for text in next(self._rounds)], None

    def _log_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


@contextmanager
def answering(*rounds: Sequence[str]) -> Iterator[WrittenTrainer]:
    """A trainer whose loop runs in a thread, as TRL's does."""
    trainer = WrittenTrainer(*rounds)
    loop = trainer.async_loop
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield trainer
    finally:
        # Closes the connections that were made in it.
        asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def chats(*texts: str) -> list[list[dict[str, str]]]:
    """The texts as completions of chats."""
    return [[{"role": "assistant", "content": text}] for text in texts]
