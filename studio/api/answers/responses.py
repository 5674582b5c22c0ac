"""The answer of `/v1/responses`: a response, or a stream of its numbered events.

A response has its session's id.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal

from pydantic import BaseModel

from conductor.runs.events import EVENT
from studio.access.errors import ApiError
from studio.api.answers.answer_usage import response_usage
from studio.api.answers.failure import PAUSED, no_answer
from studio.api.answers.followed_run import AnsweredRun
from studio.api.answers.response_items import OutputStream, output
from studio.api.answers.run_metadata import Shape, run_metadata
from studio.api.answers.streaming import Piece, comment, data, progress_line
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.requests.tool_definitions import shapes_of
from studio.api.stored.visible import IN_PROGRESS, RESPONSE, WAITS

_ECHOED = (
    "background", "instructions", "max_output_tokens", "metadata", "model", "parallel_tool_calls",
    "previous_response_id", "reasoning", "store", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "user",
)  # fmt: skip
"""The parameters of a request that its response has under the same names."""


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


async def response(request: ResponsesRequest, run: AnsweredRun) -> Shape:
    """The whole answer of a run that is over, which is stored. Raises `ApiError` without one, unless
    the run waits at a gate.
    """
    ended = await outcome(request, run)
    error = no_answer(run, query_parameter=request.query_parameter)
    if error is not None and error.code != PAUSED:
        raise error
    return ended


async def outcome(request: ResponsesRequest, run: AnsweredRun) -> Shape:
    """The response of a run that is over, which is stored, also where it has no answer."""
    if error := no_answer(run, query_parameter=request.query_parameter):
        return await run.store(_failed(request, run, error))
    run.answer.end()
    return await run.store(_ended(request, run))


def opening_shape(request: ResponsesRequest, *, started_at: float) -> Shape:
    """A response that begins at that time, in Unix seconds, as far as it is known without its session."""
    shape = _opening(request, id="", started_at=started_at, status=IN_PROGRESS)
    del shape["id"]
    return shape


def under_way(request: ResponsesRequest, run: AnsweredRun) -> Shape:
    """A response that goes on; `conductor` has its session only."""
    own = {"session": run.session, "url": run.url}
    return {**_shape(request, run, status=IN_PROGRESS), "conductor": own}


def request_of(shape: Mapping[str, Any]) -> ResponsesRequest:
    """The request of a stored response, as far as the response has it: without its input."""
    fields = {name: shape[name] for name in _ECHOED if shape.get(name) is not None}
    return ResponsesRequest.model_validate_json(json.dumps({**fields, "input": ""}))


async def events(
    request: ResponsesRequest, run: AnsweredRun, *, after: int = -1
) -> AsyncGenerator[Piece, None]:
    """OpenAI's events in their order, with comments on the run's progress, from number `after` + 1 on."""
    last = -1

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal last
        last += 1
        if last <= after:
            return b""
        return data({"type": kind, "sequence_number": last, **fields}, event=kind)

    def piece(*parts: bytes, opens: bool = True, error: ApiError | None = None) -> Piece:
        return Piece(b"".join(parts), opens=opens, number=max(last, after), error=error)

    opened_as = _shape(request, run, status=IN_PROGRESS)
    yield piece(event("response.created", response=opened_as), opens=False)
    yield piece(event("response.in_progress", response=opened_as), opens=False)
    items = OutputStream(run, request.tool_names, event, sealed=request.sealed)
    async with aclosing(run.progress()) as progress:
        async for happened, text in progress:
            # One piece for each event, also for one that adds nothing: see `EventStream`.
            line = progress_line(happened, run.answer)
            pieces = []
            if request.steering.events:
                pieces.append(event("conductor.event", event=EVENT.dump_python(happened, mode="json")))
            pieces += items.pieces(text)
            yield piece(comment(line) if line else b"", *pieces, opens=bool(pieces))
    if error := no_answer(run, query_parameter=request.query_parameter):
        # Before the last event, so that a client that has read it finds the response.
        ended = await run.store(_failed(request, run, error))
        if error.code == PAUSED:
            yield piece(event("response.incomplete", response=ended))
        else:
            yield piece(event("response.failed", response=ended), error=error)
        return
    for part in (*items.pieces(run.answer.end()), *items.end(status=_status(run))):
        yield piece(part)
    ended = await run.store(_ended(request, run))
    yield piece(event(f"response.{ended['status']}", response=ended))


def _status(run: AnsweredRun) -> str:
    return "incomplete" if run.answer.finish_reason == "length" else "completed"


def _ended(request: ResponsesRequest, run: AnsweredRun) -> Shape:
    status = _status(run)
    return {
        **_shape(request, run, status=status),
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": output(run, request.tool_names, status=status, sealed=request.sealed),
        "usage": response_usage(run.answer),
        "conductor": run_metadata(request, run),
    }


def _failed(request: ResponsesRequest, run: AnsweredRun, error: ApiError) -> Shape:
    if error.code == PAUSED:
        return {
            **_shape(request, run, status="incomplete"),
            "incomplete_details": {"reason": WAITS},
            "conductor": run_metadata(request, run),
        }
    stopped = error.code == "run_stopped"
    return {
        **_shape(request, run, status="cancelled" if stopped else "failed"),
        "error": {"code": error.code or "server_error", "message": str(error)},
        "conductor": run_metadata(request, run),
    }


def _format(request: ResponsesRequest) -> Shape:
    """The form of the answer, as it was asked for."""
    form = None if request.text is None else request.text.format
    if form is None or form.type != "json_schema":
        return {"type": "text" if form is None else form.type}
    named = {"name": form.name, "description": form.description, "strict": form.strict}
    return {"type": form.type, **named, "schema": form.schema_}


def _parallel(request: ResponsesRequest) -> bool:
    """Whether several tools may be called at once, as they may where the request leaves it open."""
    choice = request.parallel_tool_calls
    return request.tool_names.offered if choice is None else choice


def _choice(request: ResponsesRequest) -> str | Shape:
    chosen = request.tool_choice or "auto"
    return chosen if isinstance(chosen, str) else chosen.model_dump(mode="json", exclude_none=True)


def _shape(request: ResponsesRequest, run: AnsweredRun, *, status: str) -> Shape:
    return _opening(request, id=run.answer_id, started_at=run.started_at, status=status)


def _opening(request: ResponsesRequest, *, id: str, started_at: float, status: str) -> Shape:
    """The response as far as it is known from the beginning."""
    return {
        "id": f"{RESPONSE}{id}",
        "object": "response",
        "created_at": int(started_at),
        "status": status,
        "background": bool(request.background),
        "error": None,
        "incomplete_details": None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "metadata": request.metadata or {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": _parallel(request),
        "previous_response_id": request.previous_response_id,
        "reasoning": {"effort": request.question.effort, "summary": None},
        "service_tier": "default",
        "store": request.store is not False,
        "temperature": request.temperature,
        "text": {"format": _format(request)},
        "tool_choice": _choice(request),
        "tools": shapes_of(request.offered_tools),
        "top_logprobs": request.top_logprobs or 0,
        "top_p": request.top_p,
        "truncation": "disabled",
        "usage": None,
        "user": request.user,
    }
