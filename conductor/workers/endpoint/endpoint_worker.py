"""A language model as a worker: any endpoint with OpenAI's chat completions.

Knows the worker protocol; the calls are the client's. What does not fit its context is refused before it
is sent, a call is priced here, and an answer has the form that was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import NoReturn, Self

from conductor.errors import AnswerFormError, FormatError, WorkerError
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Completion, Message, Part, Request, Retried, Sampling
from conductor.workers.endpoint.client import ChatClient, ChatItem
from conductor.workers.endpoint.config import Endpoint
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


# -- the form of an answer -------------------------------------------------------------------------

Ask = Callable[[Sequence[Message]], AsyncGenerator[ChatItem, None]]


async def formed(
    ask: Ask, messages: Sequence[Message], form: ResponseFormat, *, name: str, max_tokens: int | None
) -> AsyncGenerator[ChatItem, None]:
    """The answer to `messages` of the worker `name`, which is what `form` asks for.

    The first answer that is not is withdrawn and asked for again, with the reason in the request. Raises
    `AnswerFormError` where the second is not either, or where one was cut off at its limit of tokens. What a
    model declined is passed on unchecked.
    """
    completion: Completion | None = None
    async with aclosing(ask(messages)) as items:
        async for item in items:
            if isinstance(item, Completion):
                completion = item
            else:
                yield item
    if completion is None:
        return
    fault = await _fault(completion, form, name=name, max_tokens=max_tokens)
    if fault is None:
        yield completion
        return
    yield Retried(
        attempt=1,
        message=f"{name}: the answer is not {form.words}: {fault}",
        seconds=0,
        withdrawn=len(completion.text) + len(completion.reasoning),
        used=completion.usage,
    )
    async with aclosing(ask([*messages, *_reminder(completion, form, fault)])) as items:
        async for item in items:
            if isinstance(item, Completion):
                fault = await _fault(item, form, name=name, max_tokens=max_tokens)
                if fault is not None:
                    raise AnswerFormError(
                        f"{name} answered twice with what is not {form.words}: {fault}. Give the step "
                        "another worker, or ask for a simpler form.",
                        used=item.usage,
                    )
            yield item


async def _fault(
    completion: Completion, form: ResponseFormat, *, name: str, max_tokens: int | None
) -> str | None:
    """Why the answer is not what was asked for; None if it is, if the model declined to answer or calls tools
    first.
    """
    if completion.finish_reason == "refused" or completion.tool_calls:
        return None
    from conductor.workers.endpoint.schema_check import schema_fault  # noqa: PLC0415 - it brings jsonschema

    try:
        # In a thread: a hostile schema takes its whole time, and the loop has other streams.
        fault = await asyncio.to_thread(schema_fault, completion.text, form)
    except FormatError as error:
        raise AnswerFormError(f"{name}: {error}", used=completion.usage) from None
    if fault is not None and completion.finish_reason == "length":
        limit = "its endpoint's own limit of tokens" if max_tokens is None else f"{max_tokens:,} tokens"
        raise AnswerFormError(
            f"{name}: the answer was cut off at {limit}, before it was {form.words}; allow more tokens.",
            used=completion.usage,
        )
    return fault


def _reminder(refused: Completion, form: ResponseFormat, fault: str) -> tuple[Message, Message]:
    """The refused answer, and what is wrong with it."""
    again = f"This answer is not {form.words}: {fault}. {form.request}"
    return (
        Message("assistant", (Part(kind="turn", text=refused.text),), thoughts=refused.thoughts),
        Message(role="user", parts=(Part(kind="frame", text=again),)),
    )
