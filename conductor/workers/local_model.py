"""A small model that runs in this program: its folder, its card, and how it continues a text.

Knows the folder and the worker protocol; what such a model plans is in `planner/local`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conductor.errors import WorkerError
from conductor.values.messages import NOTHING_USED, Completion, Delta, Request, Usage
from conductor.workers.protocol import WorkerCard

if TYPE_CHECKING:
    from conductor.llama.numpy_llama import Llama, Written

SHIPPED: Mapping[str, Path] = {"orchard": Path(__file__).parents[1] / "llama" / "shipped" / "orchard"}
"""The folders of the models that come with the program, by the names that a pool file gives them."""

MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "conductor-card.json")
"""The files of a folder that decide what its model plans."""

_MOST_TOKENS = 64


class LocalModel:
    """The model in a folder. Raises `PoolError` where a file there is missing or broken."""

    def __init__(self, folder: Path, *, name: str) -> None:
        # Here, because most pools have no local model and need not wait for numpy.
        from conductor.llama.numpy_llama import read_llama  # noqa: PLC0415

        self.folder = folder
        self.llama: Llama = read_llama(folder)
        self.card = WorkerCard(
            name=name,
            kind="embedded",
            strengths="a small model in this program, trained in a small world",
            model=folder.name,
            context=self.llama.config.max_position_embeddings,
        )

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """Continue the text of the request, which shows that the model runs; it can only plan."""
        prompt = self.llama.read("\n".join(message.content for message in request.messages))
        if not 0 < len(prompt) < self.llama.config.max_position_embeddings:
            raise WorkerError(
                f"{self.card.name} reads up to {self.card.context} tokens; shorten the text.",
                used=NOTHING_USED,
            )
        most = min(request.sampling.max_tokens or _MOST_TOKENS, _MOST_TOKENS)
        written = await asyncio.to_thread(self.llama.write, prompt, most=most, forbidden=lambda _: ())
        yield Delta(text=written.text)
        yield Completion(text=written.text, usage=usage_of(prompt, written))


def usage_of(prompt: list[int], written: Written) -> Usage:
    """The tokens of a call, its end counted as one."""
    return Usage(prompt_tokens=len(prompt), completion_tokens=len(written.tokens) + written.ended)
