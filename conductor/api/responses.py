"""`/v1/responses`: a request as a wish, and an answer as a response or as a stream of numbered events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count
from typing import Any

from conductor.api import sse
from conductor.api.account import response_usage
from conductor.api.chat import Account, Shape, tags_of
from conductor.api.delivery import Delivery
from conductor.api.errors import ApiError
from conductor.api.outcome import no_answer
from conductor.api.parameters import read
from conductor.api.progress import line_of
from conductor.api.schemas_responses import (
    RESPONSES_REASONS,
    WITHOUT_EFFECT,
    InputMessage,
    ResponsesRequest,
)
from conductor.api.steering import Wish
from conductor.api.stored import response_id
from conductor.conversation import Conversation, Turn
from conductor.events import EVENT

QUERY_IN = "input"


def responses_request(content: bytes) -> ResponsesRequest:
    """The request. Raises `ApiError` naming the parameter that cannot be honoured."""
    request = read(ResponsesRequest, content, reasons=RESPONSES_REASONS)
    if isinstance(request.input, tuple):
        last = request.input[-1]
        if not isinstance(last, InputMessage) or last.role != "user":
            where = f"input.{len(request.input) - 1}.role"
            raise ApiError("The last message must be the user's.", param=where, code="invalid_value")
    if request.stream_options is not None and not request.stream:
        message = "'stream_options' cannot be honoured here: nothing is streamed."
        raise ApiError(message, param="stream_options", code="unsupported_parameter")
    return request


def wish_of(request: ResponsesRequest) -> Wish:
    """What the request asks for, but for what was said in an earlier response."""
    turns, query = _input(request)
    reasoning = request.reasoning
    return Wish(
        model=request.model,
        query=query,
        conversation=Conversation(instructions=request.instructions or "", turns=turns),
        steering=request.conductor,
        effort=None if reasoning is None else reasoning.effort,
        temperature=request.temperature,
        max_tokens=request.max_output_tokens,
        tags=tags_of(request.metadata, user=request.user, safety_identifier=request.safety_identifier),
        keep=request.store is not False,
        limit_in="max_output_tokens",
        effort_in="reasoning.effort",
        query_in=QUERY_IN,
    )


def without_effect(request: ResponsesRequest) -> list[str]:
    """The parameters of the request that mean nothing here."""
    return [name for name in WITHOUT_EFFECT if getattr(request, name) is not None]


def _input(request: ResponsesRequest) -> tuple[tuple[Turn, ...], str]:
    """What was said before, and the question."""
    if isinstance(request.input, str):
        return (), request.input
    turns = [_turn(item) for item in request.input if isinstance(item, InputMessage)]
    return tuple(turn for turn in turns[:-1] if turn.text), turns[-1].text


def _turn(item: InputMessage) -> Turn:
    content = item.content
    text = content if isinstance(content, str) else "".join(part.text for part in content)
    return Turn(role="system" if item.role == "developer" else item.role, text=text)


# -- answers ---------------------------------------------------------------------------------------


async def response(request: ResponsesRequest, delivery: Delivery, account: Account) -> Shape:
    """The whole answer of a delivery that is over, kept as it is. Raises `ApiError` where there is none."""
    error = no_answer(delivery.answer, delivery.trouble, query_in=QUERY_IN)
    if error is not None:
        raise error
    delivery.answer.end()
    ended = _ended(request, delivery, account)
    await delivery.keep(ended)
    return ended


async def events(
    request: ResponsesRequest, delivery: Delivery, account: Account
) -> AsyncGenerator[bytes, None]:
    """OpenAI's events in their order, with comments on what goes on meanwhile."""
    numbers = count()

    def told(kind: str, **fields: Any) -> bytes:
        return sse.data({"type": kind, "sequence_number": next(numbers), **fields}, event=kind)

    begun = _shape(request, delivery, status="in_progress")
    yield told("response.created", response=begun)
    yield told("response.in_progress", response=begun)
    opened = False
    async with aclosing(delivery.progress()) as progress:
        async for event, text in progress:
            if line := line_of(event, delivery.answer):
                yield sse.comment(line)
            if request.conductor.events:
                yield told("conductor.event", event=EVENT.dump_python(event, mode="json"))
            if text and not opened:
                opened = True
                for piece in _opening(delivery, told):
                    yield piece
            if text:
                yield told("response.output_text.delta", **_place(delivery), delta=text, logprobs=[])
    error = no_answer(delivery.answer, delivery.trouble, query_in=QUERY_IN)
    if error is not None:
        failed = _shape(request, delivery, status="failed")
        failed["error"] = {"code": error.code or "server_error", "message": str(error)}
        failed["conductor"] = account(delivery)
        await delivery.keep(failed)
        yield told("response.failed", response=failed)
        return
    rest = delivery.answer.end()
    if not opened:
        for piece in _opening(delivery, told):
            yield piece
    if rest:
        yield told("response.output_text.delta", **_place(delivery), delta=rest, logprobs=[])
    for piece in _closing(delivery, told):
        yield piece
    ended = _ended(request, delivery, account)
    # Before its end is told, so that who asks for it next finds it.
    await delivery.keep(ended)
    yield told(f"response.{ended['status']}", response=ended)


def _opening(delivery: Delivery, told: Callable[..., bytes]) -> list[bytes]:
    item = {**_item(delivery, status="in_progress"), "content": []}
    return [
        told("response.output_item.added", output_index=0, item=item),
        told("response.content_part.added", **_place(delivery), part=_part("")),
    ]


def _closing(delivery: Delivery, told: Callable[..., bytes]) -> list[bytes]:
    text = delivery.answer.said
    return [
        told("response.output_text.done", **_place(delivery), text=text, logprobs=[]),
        told("response.content_part.done", **_place(delivery), part=_part(text)),
        told("response.output_item.done", output_index=0, item=_item(delivery, status=_status(delivery))),
    ]


def _place(delivery: Delivery) -> Shape:
    return {"item_id": _message(delivery), "output_index": 0, "content_index": 0}


def _message(delivery: Delivery) -> str:
    return f"msg_{delivery.session}"


def _part(text: str) -> Shape:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(delivery: Delivery, *, status: str) -> Shape:
    return {
        "type": "message",
        "id": _message(delivery),
        "status": status,
        "role": "assistant",
        "content": [_part(delivery.answer.said)],
    }


def _status(delivery: Delivery) -> str:
    return "incomplete" if delivery.answer.finish_reason == "length" else "completed"


def _ended(request: ResponsesRequest, delivery: Delivery, account: Account) -> Shape:
    status = _status(delivery)
    cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {
        **_shape(request, delivery, status=status),
        "incomplete_details": cut,
        "output": [_item(delivery, status=status)],
        "usage": response_usage(delivery.answer),
        "conductor": account(delivery),
    }


def _shape(request: ResponsesRequest, delivery: Delivery, *, status: str) -> Shape:
    """The response as far as it is known from the beginning."""
    effort = None if request.reasoning is None else request.reasoning.effort
    return {
        "id": response_id(delivery.session),
        "object": "response",
        "created_at": int(delivery.begun_at),
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "metadata": request.metadata or {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": bool(request.parallel_tool_calls),
        "previous_response_id": request.previous_response_id,
        "reasoning": {"effort": effort, "summary": None},
        "service_tier": "default",
        "store": request.store is not False,
        "temperature": request.temperature,
        "text": {"format": {"type": "text"}},
        "tool_choice": request.tool_choice or "auto",
        "tools": [],
        "top_p": request.top_p,
        "truncation": "disabled",
        "usage": None,
        "user": request.user,
    }
