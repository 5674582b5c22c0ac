"""The endpoints that answer: chat completions, responses and embeddings.

Bodies are read by the requests' own schemas, because FastAPI would parse them before their values are counted
and would answer with errors of its own shape.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from conductor.errors import ConductorError
from conductor.values.charge import Charge
from studio.access.auth import Principal
from studio.api.answers import chat, responses, streaming
from studio.api.answers.choices import Choices
from studio.api.answers.response_run import ResponseRun
from studio.api.answers.run_metadata import Shape
from studio.api.answers.streaming import EventStream, until_disconnect
from studio.api.endpoints.description import answering
from studio.api.endpoints.service import Authenticated, headers_of, service_of, unheeded_header
from studio.api.error_answers import Json, api_error
from studio.api.requests.body import read_json
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.content import may_have_files
from studio.api.requests.embeddings import (
    EmbeddingList,
    EmbeddingsRequest,
    embedding_worker,
    embeddings,
)
from studio.api.requests.request import ApiRequest, Question
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.requests.run_request import run_request
from studio.api.stored import visible
from studio.api.stored.items import with_items
from studio.sessions.person_limits import admitted

router = APIRouter()

T = TypeVar("T", bound=ApiRequest)

_FILE_READERS = ThreadPoolExecutor(4, thread_name_prefix="files")
"""A PDF takes seconds: requests with files wait for one another, and nothing else waits for them."""


async def _chat_request(http: Request, principal: Authenticated) -> ChatRequest:
    request = await _read(ChatRequest, await read_json(http))
    return request.without_plan(principal.small_requests)


async def _responses_request(http: Request, principal: Authenticated) -> ResponsesRequest:
    body = await read_json(http)
    request = await _read(ResponsesRequest, body)
    if request.references:
        resolve = partial(with_items, body=body, references=request.references, token=principal.token)
        request = await _read(ResponsesRequest, await service_of(http).backend.look_up(resolve))
    return request.without_plan(principal.small_requests)


async def _read(kind: type[T], body: bytes) -> T:
    if not may_have_files(body):
        return kind.read(body)
    return await asyncio.get_running_loop().run_in_executor(_FILE_READERS, kind.read, body)


async def _embeddings_request(http: Request, _: Authenticated) -> EmbeddingsRequest:
    return EmbeddingsRequest.read(await read_json(http))


@router.post("/chat/completions", **answering("createChatCompletion", ChatRequest, chat.ChatCompletion))
async def create_chat_completion(
    http: Request, principal: Authenticated, request: Annotated[ChatRequest, Depends(_chat_request)]
) -> Response:
    """Answer a conversation, whole or as a stream of chunks."""
    run = await _started(http, principal, request, request.question)
    choices = Choices(run, number=request.n or 1, query_parameter=request.query_parameter)
    headers = headers_of(principal, run, request.ignored)
    if request.stream:
        pieces = chat.chunks(request, choices)
        hold = 0.0 if request.steering.events else streaming.HOLD_SECONDS
        return EventStream(pieces, headers=headers, on_end=choices.leave, more=choices.more, hold=hold)
    await _whole(http, choices)
    return Json(await chat.kept_completion(request, choices), headers=headers)


@router.post("/responses", **answering("createResponse", ResponsesRequest, responses.ResponseObject))
async def create_response(
    http: Request, principal: Authenticated, request: Annotated[ResponsesRequest, Depends(_responses_request)]
) -> Response:
    """Answer a question, whole or as a stream of events."""
    question, earlier = request.question, request.previous_response_id
    if earlier is not None:
        backend = service_of(http).backend
        question = request.after(
            await backend.look_up(visible.messages_until, earlier, token=principal.token)
        )
    opening = responses.opening_shape(request, started_at=time.time())
    run = await _started(http, principal, request, question, opening=opening)
    return await answered(http, principal, request, run)


async def answered(
    http: Request, principal: Principal, request: ResponsesRequest, run: ResponseRun
) -> Response:
    """A response, whole, as a stream, or in the background as it begins."""
    run.on_unread = partial(responses.outcome, request, run)
    headers = headers_of(principal, run, request.ignored)
    if request.stream:
        # The id of one in the background is of use before its answer.
        hold = 0.0 if request.steering.events or run.background else streaming.HOLD_SECONDS
        pieces = responses.events(request, run)
        return EventStream(pieces, headers=headers, on_end=run.leave, more=run.more, hold=hold)
    if run.background:
        run.leave()
        return Json(responses.under_way(request, run), headers=headers)
    await _whole(http, run)
    return Json(await responses.response(request, run), headers=headers)


async def _started(
    http: Request,
    principal: Principal,
    request: ApiRequest,
    question: Question,
    *,
    opening: Shape | None = None,
) -> ResponseRun:
    """The request's run. From here on nothing may fail before the answer is read."""
    service = service_of(http)
    pool, app, stops = await service.backend.pool(), service.app_at(http), question.stops
    try:
        work, stored_as = await run_request(request, question, principal, pool, service.backend)
        return await service.runs.start(
            work,
            stored_as,
            principal,
            pool=pool,
            app=app,
            stops=stops,
            opening=opening,
            events=request.steering.events,
            background=opening is not None and bool(opening["background"]),
        )
    except ConductorError as error:
        raise api_error(error, query_parameter=request.query_parameter) from error


async def _whole(http: Request, run: ResponseRun | Choices) -> None:
    """Wait for the whole answer; the run is stopped where the client leaves."""
    try:
        await until_disconnect(http.receive, run.whole())
    finally:
        run.leave()


@router.post("/embeddings", **answering("createEmbedding", EmbeddingsRequest, EmbeddingList, streams=False))
async def create_embedding(
    http: Request,
    principal: Authenticated,
    request: Annotated[EmbeddingsRequest, Depends(_embeddings_request)],
) -> Response:
    """Pass texts on to the endpoint of one worker, which makes vectors of them."""
    service = service_of(http)
    worker = embedding_worker(request, await service.backend.pool(), principal)
    limits = await service.backend.look_up(admitted, principal.asker)
    charges: list[Charge] = []
    try:
        answer = await embeddings(request, worker, charges)
    finally:
        await service.backend.look_up(lambda store: store.ledger.add(charges, by=principal.asker))
        tokens = sum(charge.charged_tokens for charge in charges)
        await service.auth.record_usage(principal, tokens)
        if limits is not None:
            await service.backend.look_up(lambda store: limits.settle(store, tokens))
    return Json(answer, headers={**principal.headers, **unheeded_header(request.ignored)})
