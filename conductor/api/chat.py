"""`/v1/chat/completions`: a request as a wish, and an answer as a completion or as a stream of chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from conductor.api import sse
from conductor.api.account import chat_usage
from conductor.api.delivery import Delivery
from conductor.api.errors import ApiError
from conductor.api.outcome import no_answer
from conductor.api.parameters import read
from conductor.api.progress import line_of
from conductor.api.schemas_chat import (
    CHAT_REASONS,
    WITHOUT_EFFECT,
    AssistantMessage,
    ChatRequest,
    Content,
    Instructions,
    UserMessage,
)
from conductor.api.steering import Wish
from conductor.conversation import Conversation, Turn
from conductor.events import EVENT

Shape = dict[str, Any]
Account = Callable[[Delivery], Shape]
"""Makes the object `conductor` of a delivery that is over."""

QUERY_IN = "messages"


def chat_request(content: bytes) -> ChatRequest:
    """The request. Raises `ApiError` naming the parameter that cannot be honoured."""
    request = read(ChatRequest, content, reasons=CHAT_REASONS)
    if not isinstance(request.messages[-1], UserMessage):
        last = f"messages.{len(request.messages) - 1}.role"
        raise ApiError("The last message must be the user's.", param=last, code="invalid_value")
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        message = "Give one of 'max_completion_tokens' and 'max_tokens'; they mean the same."
        raise ApiError(message, param="max_tokens", code="invalid_value")
    if request.stream_options is not None and not request.stream:
        message = "'stream_options' cannot be honoured here: nothing is streamed."
        raise ApiError(message, param="stream_options", code="unsupported_parameter")
    return request


def wish_of(request: ChatRequest) -> Wish:
    """What the request asks for."""
    *earlier, last = request.messages
    assert isinstance(last, UserMessage), "checked when it was read"
    turns = (turn for message in earlier if (turn := _turn(message)) is not None)
    return Wish(
        model=request.model,
        query=_text(last.content),
        conversation=Conversation(turns=tuple(turns)),
        steering=request.conductor,
        effort=request.reasoning_effort,
        temperature=request.temperature,
        max_tokens=request.max_completion_tokens or request.max_tokens,
        tags=tags_of(request.metadata, user=request.user, safety_identifier=request.safety_identifier),
        keep=request.store is not False,
        limit_in="max_tokens" if request.max_tokens is not None else "max_completion_tokens",
        effort_in="reasoning_effort",
        query_in=QUERY_IN,
    )


def tags_of(metadata: dict[str, str] | None, **named: str | None) -> tuple[str, ...]:
    """The session's tags: it can be found by what the request said of itself."""
    said = {**(metadata or {}), **{name: value for name, value in named.items() if value}}
    return tuple(f"{name}={value}" for name, value in said.items())


def without_effect(request: ChatRequest) -> list[str]:
    """The parameters of the request that mean nothing here."""
    return [name for name in WITHOUT_EFFECT if getattr(request, name) is not None]


def stops_of(request: ChatRequest) -> tuple[str, ...]:
    """The texts before which the answer ends."""
    return (request.stop,) if isinstance(request.stop, str) else request.stop or ()


def _turn(message: Instructions | UserMessage | AssistantMessage) -> Turn | None:
    match message:
        case Instructions():
            return Turn(role="system", text=_text(message.content))
        case UserMessage():
            return Turn(role="user", text=_text(message.content))
        case AssistantMessage():
            text = _text(message.content or "") or message.refusal or ""
            # One that said nothing, as a call of tools, tells nobody anything.
            return Turn(role="assistant", text=text) if text else None


def _text(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


# -- answers ---------------------------------------------------------------------------------------


def completion(request: ChatRequest, delivery: Delivery, account: Account) -> Shape:
    """The whole answer of a delivery that is over. Raises `ApiError` where there is none."""
    answer = delivery.answer
    error = no_answer(answer, delivery.trouble, query_in=QUERY_IN)
    if error is not None:
        raise error
    answer.end()
    message: Shape = {"role": "assistant", "content": answer.said, "refusal": None, "annotations": []}
    return {
        **_head(request, delivery, kind="chat.completion"),
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(delivery)},
        ],
        "usage": chat_usage(answer),
        "conductor": account(delivery),
    }


async def chunks(request: ChatRequest, delivery: Delivery, account: Account) -> AsyncGenerator[bytes, None]:
    """The answer piece by piece, with comments on what goes on meanwhile; an error is the last piece."""
    head = _head(request, delivery, kind="chat.completion.chunk")
    usage: Shape = {"usage": None} if _wants_usage(request) else {}

    def chunk(delta: Shape, *, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse.data({**head, "choices": [choice], **usage, **more})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(delivery.progress()) as progress:
        async for event, text in progress:
            if line := line_of(event, delivery.answer):
                yield sse.comment(line)
            if request.conductor.events:
                yield chunk({}, conductor={"event": EVENT.dump_python(event, mode="json")})
            if text:
                yield chunk({"content": text})
    error = no_answer(delivery.answer, delivery.trouble, query_in=QUERY_IN)
    if error is not None:
        yield sse.data(error.shape)
        return
    if rest := delivery.answer.end():
        yield chunk({"content": rest})
    yield chunk({}, reason=_reason(delivery), conductor=account(delivery))
    if usage:
        yield sse.data({**head, "choices": [], "usage": chat_usage(delivery.answer)})
    yield sse.DONE


def _wants_usage(request: ChatRequest) -> bool:
    return request.stream_options is not None and bool(request.stream_options.include_usage)


def _head(request: ChatRequest, delivery: Delivery, *, kind: str) -> Shape:
    return {
        "id": f"chatcmpl-{delivery.session}",
        "object": kind,
        "created": int(delivery.begun_at),
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _reason(delivery: Delivery) -> str:
    return "length" if delivery.answer.finish_reason == "length" else "stop"
