"""The answer of `/v1/chat/completions`: a completion, or a stream of its chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from pydantic import BaseModel

from conductor.runs.events import EVENT
from conductor.values.message_parts.token_logprobs import TokenLogprob
from studio.access.errors import ApiError
from studio.api.answers.answer import Answer
from studio.api.answers.answer_usage import chat_usage
from studio.api.answers.choices import Choices
from studio.api.answers.failure import no_answer
from studio.api.answers.response_run import ResponseRun
from studio.api.answers.run_metadata import Shape, choices_metadata
from studio.api.answers.streaming import DONE, Piece, comment, data, progress_line
from studio.api.requests.chat_request import ChatRequest
from studio.api.stored.visible import COMPLETION
from studio.api.tool_names import ToolNames, input_of


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


def completion(request: ChatRequest, choices: Choices) -> Shape:
    """The whole answer of runs that are over. Raises `ApiError` where one of them has none."""
    for run in choices.runs:
        if error := no_answer(run, query_parameter=request.query_parameter):
            raise error
        run.answer.end()
    metadata = {"metadata": request.metadata or {}} if request.store else {}
    return {
        **_head(request, choices.runs[0], kind="chat.completion"),
        **metadata,
        "choices": [_choice(at, run.answer, request.tool_names) for at, run in enumerate(choices.runs)],
        "usage": chat_usage(*(run.answer for run in choices.runs)),
        "conductor": choices_metadata(request, choices),
    }


def _choice(index: int, answer: Answer, names: ToolNames) -> Shape:
    message: Shape = {"role": "assistant", "content": answer.sent_text, "refusal": None, "annotations": []}
    message |= answer.thoughts.whole
    if answer.calls:
        message |= {"content": answer.sent_text or None, "tool_calls": _calls(answer, names)}
    reason = _finish_reason(answer)
    logprobs = _logprobs(answer.tokens.whole)
    return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": reason}


def _calls(answer: Answer, names: ToolNames) -> list[Shape]:
    """The calls of the client's tools."""
    return [_custom_call(call) if _is_custom(call, names) else call for call in answer.calls.whole]


def _is_custom(call: Shape, names: ToolNames) -> bool:
    return names.tool(call["function"]["name"]).custom


def _custom_call(call: Shape) -> Shape:
    """A worker's call of the function that stands for a custom tool, as the call of that tool."""
    function = call["function"]
    own = {"name": function["name"], "input": input_of(function["arguments"])}
    beside = {name: part for name, part in call.items() if name != "function"}
    return {**beside, "type": "custom", "custom": own}


class _CallPieces:
    """The pieces of calls for the deltas of a stream. The input of a custom tool's call comes in one piece,
    at the end.
    """

    def __init__(self, answer: Answer, names: ToolNames) -> None:
        self._answer = answer
        self._names = names
        self._custom: set[int] = set()

    def take(self) -> list[Shape]:
        """Those since the last time."""
        pieces = []
        for piece in self._answer.calls.take():
            if "id" in piece and _is_custom(piece, self._names):
                self._custom.add(piece["index"])
                pieces.append(_custom_call(piece))
            elif piece["index"] not in self._custom:
                pieces.append(piece)
            elif beside := {name: part for name, part in piece.items() if name not in ("index", "function")}:
                pieces.append({"index": piece["index"], **beside})
        return pieces

    def rest(self) -> list[Shape]:
        """Those that are left at the end."""
        pieces, whole = self.take(), _calls(self._answer, self._names)
        inputs = (
            {"index": at, "custom": {"input": whole[at]["custom"]["input"]}} for at in sorted(self._custom)
        )
        return [*pieces, *inputs]


def _logprobs(tokens: Sequence[TokenLogprob]) -> Shape | None:
    return {"content": [token.wire for token in tokens], "refusal": None} if tokens else None


async def kept_completion(request: ChatRequest, choices: Choices) -> Shape:
    """The same, stored where the request asks for it: then it can be read and listed."""
    whole = completion(request, choices)
    return await choices.runs[0].store(whole) if request.store else whole


async def chunks(request: ChatRequest, choices: Choices) -> AsyncGenerator[Piece, None]:
    """The answers one after another, piece by piece, with comments on the progress of their runs; an error is
    the last piece.
    """
    head = _head(request, choices.runs[0], kind="chat.completion.chunk")
    options = request.stream_options
    usage: Shape = {"usage": None} if options is not None and options.include_usage else {}

    def chunk(delta: Shape, *, finish_reason: str | None = None, **more: Any) -> bytes:
        with_text = delta.get("content") or finish_reason is not None
        logprobs = _logprobs(choices.runs[-1].answer.tokens.take()) if with_text else None
        index = len(choices.runs) - 1
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        return data({**head, "choices": [choice], **usage, **more})

    try:
        async with aclosing(choices.progress()) as runs:
            async for run in runs:
                calls = _CallPieces(run.answer, request.tool_names)
                yield Piece(chunk({"role": "assistant", "content": ""}), opens=False)
                async with aclosing(_written(request, run, calls, chunk)) as written:
                    async for piece in written:
                        yield piece
                if error := no_answer(run, query_parameter=request.query_parameter):
                    raise error
                for delta in _deltas(run.answer, run.answer.end(), calls.rest):
                    yield Piece(chunk(delta))
                if members := run.answer.thoughts.rest:
                    yield Piece(chunk(members))
                if not choices.complete:
                    yield Piece(chunk({}, finish_reason=_finish_reason(run.answer)))
    except ApiError as error:
        yield Piece(data(error.shape), error=error)
        return
    if request.store:
        # Before the last piece, so that a client that has read it finds the completion.
        await kept_completion(request, choices)
    last = choices.runs[-1].answer
    yield Piece(chunk({}, finish_reason=_finish_reason(last), conductor=choices_metadata(request, choices)))
    if usage:
        answers = (run.answer for run in choices.runs)
        yield Piece(data({**head, "choices": [], "usage": chat_usage(*answers)}))
    yield Piece(DONE)


async def _written(
    request: ChatRequest, run: ResponseRun, calls: _CallPieces, chunk: Callable[..., bytes]
) -> AsyncGenerator[Piece, None]:
    """A piece for each of the run's events, also for one that adds nothing: see `EventStream`."""
    async with aclosing(run.progress()) as progress:
        async for event, text in progress:
            line, piece = progress_line(event, run.answer), b""
            if request.steering.events:
                piece += chunk({}, conductor={"event": EVENT.dump_python(event, mode="json")})
            piece += b"".join(map(chunk, _deltas(run.answer, text, calls.take)))
            yield Piece((comment(line) if line else b"") + piece, opens=bool(piece))


def _deltas(answer: Answer, text: str, calls: Callable[[], Iterable[Shape]]) -> Iterator[Shape]:
    """What is new of an answer: thoughts, this text, pieces of calls."""
    if thoughts := answer.thoughts.take():
        yield thoughts
    if text:
        yield {"content": text}
    for call in calls():
        yield {"tool_calls": [call]}


def _head(request: ChatRequest, run: ResponseRun, *, kind: str) -> Shape:
    return {
        "id": f"{COMPLETION}{run.answer_id}",
        "object": kind,
        "created": int(run.started_at),
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _finish_reason(answer: Answer) -> str:
    reason = answer.finish_reason
    return reason if reason in ("length", "tool_calls") else "stop"
