"""`/v1/responses`: its request, with the values of OpenAI's parameters that are honoured, and its answer, a
response or a stream of its numbered events.

A response has its session's id.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import cached_property
from itertools import count
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from conductor.runs.events import EVENT
from conductor.values.conversation import Conversation, Turn
from studio.access.errors import ApiError
from studio.api.chat import Metadata, Shape
from studio.api.errors import no_answer
from studio.api.request import (
    COMMON_REASONS,
    MAX_MESSAGES,
    MAX_PARTS,
    ApiRequest,
    Effort,
    EmptyList,
    Question,
    RequestPart,
    Tokens,
    Unsupported,
)
from studio.api.response_run import ResponseRun
from studio.api.run_metadata import response_usage
from studio.api.stored import RESPONSE
from studio.api.streaming import comment, data, progress_line

# -- the request -----------------------------------------------------------------------------------


class InputText(RequestPart):
    """A piece of a message's text."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: EmptyList = None
    logprobs: EmptyList = None


class InputMessage(RequestPart):
    """A message; the parameters that clients send back with an answer may be there."""

    type: Literal["message"] | None = None
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[tuple[InputText, ...], Field(fail_fast=True, max_length=MAX_PARTS)]
    id: str | None = None
    status: str | None = None
    phase: str | None = None

    @property
    def turn(self) -> Turn:
        content = self.content
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        return Turn(role="system" if self.role == "developer" else self.role, text=text)


def _kind(item: object) -> str:
    kind = item.get("type") if isinstance(item, dict) else "message"
    return "message" if kind in (None, "message") else "item"


class OtherItem(RequestPart):
    """Calls of tools, their results and the like: refused."""

    type: Literal["message"]


InputItem = Annotated[
    Annotated[InputMessage, Tag("message")] | Annotated[OtherItem, Tag("item")], Discriminator(_kind)
]


class Reasoning(RequestPart):
    """How hard to think."""

    effort: Effort | None = None
    summary: Unsupported = None
    generate_summary: Unsupported = None


class ResponseFormat(RequestPart):
    """The only format of an answer."""

    type: Literal["text"]


class Text(RequestPart):
    """The form of the answer."""

    format: ResponseFormat | None = None
    verbosity: Literal["medium"] | None = None


_REASONS = {
    **COMMON_REASONS,
    "reasoning.summary": "the run contains the workers' reasoning; open its link.",
    "reasoning.generate_summary": "the run contains the workers' reasoning; open its link.",
    "reasoning.effort": "give one of minimal, low, medium, high, xhigh and max.",
    "text.format.type": "workers answer in plain text; describe the form of the text in a message.",
    "text.verbosity": 'request the length of the answer in a message; only "medium" changes nothing.',
    "truncation": 'nothing is left out of a conversation; only "disabled" is possible.',
    "include": "the answer's object 'conductor' has all further data.",
    "background": 'a run ends with its request; set "stream" and keep the connection open.',
    "background_options": 'a run ends with its request; set "stream" and keep the connection open.',
    "conversation": "give previous_response_id, or the messages themselves.",
    "prompt": "no prompts are stored here; give the messages themselves.",
    "context_management": "nothing is left out of a conversation.",
    "access_programs": "there are none here.",
    "image": "an answer is text.",
    "input.type": "items are messages; there are no calls of tools.",
    "input.content.type": "messages are text; there are no pictures, sounds and files.",
    "input.content.annotations": "messages are plain text.",
    "input.content.logprobs": COMMON_REASONS["top_logprobs"],
}


class ResponsesRequest(ApiRequest):
    """The user's question, alone or as the last of several messages, and how its answer is found."""

    reasons: ClassVar[Mapping[str, str]] = _REASONS
    without_effect = ("parallel_tool_calls", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention")
    query_parameter = "input"
    effort_parameter = "reasoning.effort"

    input: (
        str | Annotated[tuple[InputItem, ...], Field(fail_fast=True, min_length=1, max_length=MAX_MESSAGES)]
    )
    instructions: str | None = None
    previous_response_id: str | None = None
    max_output_tokens: Tokens = None
    reasoning: Reasoning | None = None
    text: Text | None = None
    truncation: Literal["disabled"] | None = None
    max_tool_calls: int | None = None
    include: EmptyList = None
    background: Literal[False] | None = None
    background_options: Unsupported = None
    conversation: Unsupported = None
    prompt: Unsupported = None
    context_management: Unsupported = None
    access_programs: Unsupported = None
    image: Unsupported = None

    def check(self) -> None:
        if isinstance(self.input, tuple):
            last = self.input[-1]
            if not isinstance(last, InputMessage) or last.role != "user":
                where = f"input.{len(self.input) - 1}.role"
                raise ApiError("The last message must be the user's.", param=where, code="invalid_value")
        super().check()

    @cached_property
    def question(self) -> Question:
        asked = [Turn(role="user", text=self.input)] if isinstance(self.input, str) else self._turns
        earlier = tuple(turn for turn in asked[:-1] if turn.text)
        return Question(
            query=asked[-1].text,
            history=Conversation(instructions=self.instructions or "", turns=earlier),
            effort=None if self.reasoning is None else self.reasoning.effort,
            token_limit=self.max_output_tokens,
            limit_parameter="max_output_tokens",
        )

    @property
    def _turns(self) -> list[Turn]:
        return [item.turn for item in self.input if isinstance(item, InputMessage)]


# -- the answer ------------------------------------------------------------------------------------


class ResponseObject(BaseModel):
    """A whole answer, as far as the API's document describes it."""

    id: str
    object: Literal["response"]
    model: str
    usage: dict[str, Any] | None
    conductor: dict[str, Any]


class DeletedResponse(BaseModel):
    """A stored response was deleted."""

    id: str
    object: Literal["response"]
    deleted: Literal[True]


async def response(request: ResponsesRequest, run: ResponseRun, metadata: Metadata) -> Shape:
    """The whole answer of a run that is over, which is stored. Raises `ApiError` where there is none."""
    if error := no_answer(run.answer, run.failure, query_parameter=request.query_parameter):
        raise error
    run.answer.end()
    ended = _ended(request, run, metadata)
    await run.store(ended)
    return ended


async def events(
    request: ResponsesRequest, run: ResponseRun, metadata: Metadata
) -> AsyncGenerator[bytes, None]:
    """OpenAI's events in their order, with comments on the run's progress."""
    numbers = count()
    place = {"item_id": _message_id(run), "output_index": 0, "content_index": 0}

    def event(kind: str, **fields: Any) -> bytes:
        return data({"type": kind, "sequence_number": next(numbers), **fields}, event=kind)

    def opening() -> bytes:
        item = {**_item(run, status="in_progress"), "content": []}
        added = event("response.output_item.added", output_index=0, item=item)
        return added + event("response.content_part.added", **place, part=_part(""))

    def delta(text: str) -> bytes:
        return event("response.output_text.delta", **place, delta=text, logprobs=[])

    begun = _shape(request, run, status="in_progress")
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    opened = False
    async with aclosing(run.progress()) as progress:
        async for happened, text in progress:
            if line := progress_line(happened, run.answer):
                yield comment(line)
            if request.steering.events:
                yield event("conductor.event", event=EVENT.dump_python(happened, mode="json"))
            if text and not opened:
                opened = True
                yield opening()
            if text:
                yield delta(text)
    if error := no_answer(run.answer, run.failure, query_parameter=request.query_parameter):
        failed = _shape(request, run, status="failed")
        failed["error"] = {"code": error.code or "server_error", "message": str(error)}
        failed["conductor"] = metadata(run)
        await run.store(failed)
        yield event("response.failed", response=failed)
        return
    rest = run.answer.end()
    if not opened:
        yield opening()
    if rest:
        yield delta(rest)
    whole = run.answer.given_out
    yield event("response.output_text.done", **place, text=whole, logprobs=[])
    yield event("response.content_part.done", **place, part=_part(whole))
    yield event("response.output_item.done", output_index=0, item=_item(run, status=_status(run)))
    ended = _ended(request, run, metadata)
    # Before the last event, so that a client that has read it finds the response.
    await run.store(ended)
    yield event(f"response.{ended['status']}", response=ended)


def _message_id(run: ResponseRun) -> str:
    return f"msg_{run.session}"


def _part(text: str) -> Shape:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(run: ResponseRun, *, status: str) -> Shape:
    return {
        "type": "message",
        "id": _message_id(run),
        "status": status,
        "role": "assistant",
        "content": [_part(run.answer.given_out)],
    }


def _status(run: ResponseRun) -> str:
    return "incomplete" if run.answer.finish_reason == "length" else "completed"


def _ended(request: ResponsesRequest, run: ResponseRun, metadata: Metadata) -> Shape:
    status = _status(run)
    return {
        **_shape(request, run, status=status),
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": [_item(run, status=status)],
        "usage": response_usage(run.answer),
        "conductor": metadata(run),
    }


def _shape(request: ResponsesRequest, run: ResponseRun, *, status: str) -> Shape:
    """The response as far as it is known from the beginning."""
    return {
        "id": f"{RESPONSE}{run.session}",
        "object": "response",
        "created_at": int(run.started_at),
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
        "reasoning": {"effort": request.question.effort, "summary": None},
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
