"""The answer of `/v1/chat/completions`: a completion, or a stream of its chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from pydantic import BaseModel

from conductor.runs.events import EVENT
from studio.api.answers.failure import no_answer
from studio.api.answers.response_run import ResponseRun
from studio.api.answers.run_metadata import Shape, chat_usage, run_metadata
from studio.api.answers.streaming import DONE, comment, data, progress_line
from studio.api.requests.chat import ChatRequest
from studio.api.stored import COMPLETION


class ChatCompletion(BaseModel):
    """A whole answer, as far as the API's document describes it."""

    id: str
    object: Literal["chat.completion"]
    model: str
    usage: dict[str, Any] | None
    conductor: dict[str, Any]


class DeletedCompletion(BaseModel):
    """A stored completion was deleted."""

    id: str
    object: Literal["chat.completion.deleted"]
    deleted: Literal[True]


def completion(request: ChatRequest, run: ResponseRun) -> Shape:
    """The whole answer of a run that is over. Raises `ApiError` where there is none."""
    answer = run.answer
    if error := no_answer(run, query_parameter=request.query_parameter):
        raise error
    answer.end()
    message: Shape = {"role": "assistant", "content": answer.given_out, "refusal": None, "annotations": []}
    if answer.calls:
        message |= {"content": answer.given_out or None, "tool_calls": answer.calls.whole}
    kept = {"metadata": request.metadata or {}} if request.store else {}
    return {
        **_head(request, run, kind="chat.completion"),
        **kept,
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(run)},
        ],
        "usage": chat_usage(answer),
        "conductor": run_metadata(request, run),
    }


async def kept_completion(request: ChatRequest, run: ResponseRun) -> Shape:
    """The same, stored where the request asks for it: then it can be read and listed."""
    whole = completion(request, run)
    return await run.store(whole) if request.store else whole


async def chunks(request: ChatRequest, run: ResponseRun) -> AsyncGenerator[bytes, None]:
    """The answer piece by piece, with comments on the run's progress; an error is the last piece."""
    head = _head(request, run, kind="chat.completion.chunk")
    options = request.stream_options
    usage: Shape = {"usage": None} if options is not None and options.include_usage else {}

    def chunk(delta: Shape, *, finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return data({**head, "choices": [choice], **usage, **more})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(run.progress()) as progress:
        async for event, text in progress:
            # One piece for each event, also for one that adds nothing: see `EventStream`.
            piece = b""
            if line := progress_line(event, run.answer):
                piece += comment(line)
            if request.steering.events:
                piece += chunk({}, conductor={"event": EVENT.dump_python(event, mode="json")})
            if text:
                piece += chunk({"content": text})
            for call in run.answer.calls.take():
                piece += chunk({"tool_calls": [call]})
            yield piece
    if error := no_answer(run, query_parameter=request.query_parameter):
        yield data(error.shape)
        return
    if rest := run.answer.end():
        yield chunk({"content": rest})
    for call in run.answer.calls.take():
        yield chunk({"tool_calls": [call]})
    if request.store:
        # Before the last piece, so that a client that has read it finds the completion.
        await kept_completion(request, run)
    yield chunk({}, finish_reason=_finish_reason(run), conductor=run_metadata(request, run))
    if usage:
        yield data({**head, "choices": [], "usage": chat_usage(run.answer)})
    yield DONE


def _head(request: ChatRequest, run: ResponseRun, *, kind: str) -> Shape:
    return {
        "id": f"{COMPLETION}{run.answer_id}",
        "object": kind,
        "created": int(run.started_at),
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _finish_reason(run: ResponseRun) -> str:
    reason = run.answer.finish_reason
    return reason if reason in ("length", "tool_calls") else "stop"
