"""A language model as a worker: any endpoint that speaks OpenAI's chat completions.

Knows the worker protocol; the calls are the client's. What does not fit its context is refused before it
is sent, and a call is priced here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from conductor.errors import WorkerError
from conductor.messages import Completion, Request, Sampling
from conductor.workers.chat import ChatClient, ChatItem
from conductor.workers.endpoint import Endpoint
from conductor.workers.protocol import Price, PromptStyle, WorkerCard

LIKELY_CHARACTERS = 4
"""Characters a token in most prose: what an estimate is told by."""

MOST_CHARACTERS = 6
"""Characters a token where a tokenizer does very well: only what cannot fit even then is refused."""


_UNSET = Sampling()


class OpenAIWorker:
    """A served model by its name in the pool. `context` is in tokens, prompt and answer together."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str,
        strengths: str | None = None,
        sampling: Sampling = _UNSET,
        price: Price | None = None,
        context: int | None = None,
        prompt_style: PromptStyle = "ours",
        fallback: str | None = None,
    ) -> None:
        self.client = ChatClient(endpoint, name=name)
        self.card = WorkerCard(
            name=name,
            kind="model",
            strengths=strengths or f"a language model, {endpoint.model}",
            model=endpoint.model,
            sampling=sampling,
            takes_sampling=True,
            prompt_style=prompt_style,
            price=price,
            context=context,
            endpoint=endpoint.base_url,
            fallback=fallback,
            parameters=endpoint.parameters,
        )

    def __repr__(self) -> str:
        return f"OpenAIWorker({self.card.name!r}, model={self.card.model!r}, endpoint={self.card.endpoint!r})"

    async def stream(self, request: Request) -> AsyncGenerator[ChatItem, None]:
        """See `Worker.stream`."""
        self._check_context(request)
        async with aclosing(self.client.stream(request.messages, sampling=request.sampling)) as items:
            async for item in items:
                yield self._priced(item) if isinstance(item, Completion) else item

    def _priced(self, completion: Completion) -> Completion:
        if self.card.price is None:
            return completion
        usage = completion.usage.model_copy(update={"cost": self.card.price.of(completion.usage)})
        return completion.model_copy(update={"usage": usage})

    def _check_context(self, request: Request) -> None:
        """Raises `WorkerError` where what the step sees cannot fit, by however favourable an estimate."""
        if self.card.context is None:
            return
        characters = sum(len(message.content) for message in request.messages)
        answer = request.sampling.max_tokens or 1
        if _tokens(characters, MOST_CHARACTERS) + answer <= self.card.context:
            return
        likely = _tokens(characters, LIKELY_CHARACTERS) + answer
        raise WorkerError(
            f"{self.card.name} has a context of {self.card.context:,} tokens, and this step needs about "
            f"{likely:,} (an estimate: {characters:,} characters to read, {answer:,} tokens to answer); "
            "let the step see less, lower max_tokens, or give it another worker."
        )


def _tokens(characters: int, each: int) -> int:
    return -(-characters // each)
