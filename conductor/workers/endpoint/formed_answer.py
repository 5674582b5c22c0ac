"""An answer in the form that was asked for: checked at its end, asked for once more with the reason.

Knows the form and how to ask; knows no endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from conductor.errors import AnswerFormError, FormatError
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Completion, Message, Part, Retried
from conductor.workers.endpoint.client import ChatItem

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
