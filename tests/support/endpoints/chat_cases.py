"""Clients of an endpoint on the loopback address, and their items as short texts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Message, Part, Request, Retried, Sampling, Thought
from conductor.workers.endpoint.client import ChatClient
from conductor.workers.endpoint.config import Endpoint, Patience
from conductor.workers.keys.hosts import HOSTS
from conductor.workers.protocol import FellBack, StreamItem

QUESTION = "why is the sky blue?"


def request(query: str = QUESTION, **sampling: Any) -> Request:
    """A request with one question."""
    part = Part(kind="query", text=query)
    return Request(messages=(Message(role="user", parts=(part,)),), sampling=Sampling(**sampling))


def endpoint(base_url: str, model: str = "simulated", **keys: Any) -> Endpoint:
    """An endpoint that is asked three times at most; `keys` are its own, or those of its patience."""
    patience = {name: keys.pop(name) for name in tuple(keys) if name in Patience.model_fields}
    return Endpoint(base_url=base_url, model=model, patience=Patience(**patience), **{"retries": 2, **keys})


def set_key(patch: pytest.MonkeyPatch, base_url: str, key: str) -> None:
    """Put `key` into ALPHA_API_KEY, and confirm that variable for the host of `base_url`."""
    patch.setenv("ALPHA_API_KEY", key)
    patch.setenv(HOSTS, f"ALPHA_API_KEY={base_url}")


def client(base_url: str, model: str = "simulated", *, name: str = "alpha", **keys: Any) -> ChatClient:
    """A client of it."""
    return ChatClient(endpoint(base_url, model, **keys), name=name)


def ask(chat: ChatClient, *, extra: Mapping[str, Any] | None = None) -> AsyncGenerator[StreamItem, None]:
    """The answer to the question."""
    return chat.stream(request().messages, extra=extra or {})


async def lines_of(stream: AsyncIterator[StreamItem]) -> list[str]:
    """What a step's followers see, pieces joined: "thought: ...", "text: ...", and the end or the error."""
    message: list[str] = []
    try:
        async for item in stream:
            _add(message, item)
    except WorkerError as error:
        message.append(f"error: {error}")
    return message


async def completed(stream: AsyncGenerator[StreamItem, None]) -> Completion:
    """The completion, which joins the deltas and thoughts before it but those that were withdrawn."""
    text = reasoning = ""
    async with aclosing(stream) as items:
        async for item in items:
            if isinstance(item, Retried) and item.withdrawn:
                assert item.withdrawn == len(text) + len(reasoning)
                text = reasoning = ""
            elif isinstance(item, Delta):
                text += item.text
            elif isinstance(item, Thought):
                reasoning += item.text
            elif isinstance(item, Completion):
                assert (item.text, item.reasoning) == (text, reasoning)
                return item
    raise AssertionError("the stream ended without a completion")


def _add(words: list[str], item: StreamItem) -> None:
    match item:
        case Delta():
            _join(words, "text: ", item.text)
        case Thought():
            _join(words, "thought: ", item.text)
        case Retried():
            withdrawn = f" ({item.withdrawn} withdrawn)" if item.withdrawn else ""
            words.append(f"attempt {item.attempt}: {item.message}{withdrawn}")
        case FellBack():
            words.append(f"{item.worker} ({item.worker_kind}) instead: {item.message}")
        case Completion():
            words.append(f"{item.finish_reason}: {item.usage.total} tokens")


def _join(message: list[str], kind: str, text: str) -> None:
    if message and message[-1].startswith(kind):
        message[-1] += text
    else:
        message.append(kind + text)
