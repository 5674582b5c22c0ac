"""A language model as a worker: any endpoint with OpenAI's chat completions.

Knows the worker protocol; the calls are the client's. What does not fit its context is refused before it
is sent, a call is priced here, and an answer has the form that was asked for.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import NoReturn, Self

from conductor.errors import WorkerError
from conductor.values.messages import Message, Request, Sampling
from conductor.workers.endpoint.client import ChatClient, ChatItem
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.formed_answer import formed
from conductor.workers.endpoint.tokens import check_context
from conductor.workers.protocol import Price, PromptStyle, WorkerCard
from conductor.workers.wording.wording import Wording

_UNSET = Sampling()


class OpenAIWorker:
    """A served model by its name in the pool. `context` is in tokens, prompt and answer together; `tokenizer`
    is the path of the model's `tokenizer.json`.
    """

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
        wording: Wording | None = None,
        fallback: str | None = None,
        tokenizer: str | None = None,
        vision: bool = False,
    ) -> None:
        self.client = ChatClient(endpoint, name=name)
        self.card = WorkerCard(
            name=name,
            kind="model",
            strengths=strengths or f"a language model, {endpoint.model}",
            model=endpoint.model,
            sampling=sampling,
            takes_sampling=True,
            takes_form=True,
            takes_tools=True,
            takes_logprobs=True,
            vision=vision,
            prompt_style=prompt_style,
            wording=wording,
            price=price,
            context=context,
            endpoint=endpoint.base_url,
            fallback=fallback,
            tokenizer=tokenizer,
            parameters=endpoint.parameters,
            unusable=endpoint.key_fault(),
        )

    def __repr__(self) -> str:
        return f"OpenAIWorker({self.card.name!r}, model={self.card.model!r}, endpoint={self.card.endpoint!r})"

    def __copy__(self) -> Self:
        # By hand, because a copy in this process can use the connections.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> NoReturn:
        raise TypeError(
            f"The worker {self.card.name} has connections, which no other process can use; give that process "
            "the path of the pool file, or built-in."
        )

    async def stream(self, request: Request) -> AsyncGenerator[ChatItem, None]:
        check_context(
            self.card,
            request.messages,
            request.sampling,
            call="this step",
            advice="let the step see less, lower max_tokens, or give it another worker",
        )
        sampling = request.sampling
        form, ask = sampling.response_format, partial(self._answer, sampling)
        answer = (
            ask(request.messages)
            if form is None
            else formed(ask, request.messages, form, name=self.card.name, max_tokens=sampling.max_tokens)
        )
        async with aclosing(answer) as items:
            async for item in items:
                yield item

    async def _answer(
        self, sampling: Sampling, messages: Sequence[Message]
    ) -> AsyncGenerator[ChatItem, None]:
        try:
            async with aclosing(self.client.stream(messages, sampling=sampling)) as items:
                async for item in items:
                    yield self.card.priced(item)
        except WorkerError as error:
            error.used = None if error.used is None else self.card.cost_of(error.used)
            raise
