"""The API as an ASGI app, to be mounted at `/v1`: its endpoints and its OpenAPI document.

Bodies are read by the requests' own schemas, because FastAPI would parse them before their values are counted
and would answer with errors of its own shape. Knows no Streamlit and no store.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from conductor.baselines.named import PLAIN_BASELINES
from conductor.errors import ConductorError
from conductor.workers.computed import is_computed
from storage.records import RequestSession
from storage.store import SessionStore
from studio.access.auth import Principal, TokenAuthenticator
from studio.access.exposure import PATH
from studio.api import stored
from studio.api.answers import chat, responses
from studio.api.answers.followed_run import FollowedRun
from studio.api.answers.response_run import ResponseRun, ResponseRuns
from studio.api.answers.run_metadata import Shape
from studio.api.answers.streaming import EventStream, until_disconnect
from studio.api.backend import Backend
from studio.api.errors import ErrorBody, Json, answer_in_openais_shape, api_error
from studio.api.metering import RequestMeter
from studio.api.models import (
    NAMES,
    ModelEntry,
    ModelList,
    baseline_entry,
    check_planner,
    conductor_entry,
    model_of,
    unknown_model,
    worker_entry,
    workflow_entry,
)
from studio.api.requests.body import UnreadBody, read_json
from studio.api.requests.chat import ChatRequest
from studio.api.requests.embeddings import (
    EmbeddingList,
    EmbeddingsRequest,
    embedding_worker,
    embeddings,
)
from studio.api.requests.reading import Reading
from studio.api.requests.request import ApiRequest, Question, RequestBody
from studio.api.requests.responses import ResponsesRequest
from studio.api.requests.resumed_request import resumed_request
from studio.api.requests.run_request import run_request
from studio.api.stored_lists import MAX_LIMIT, Page, StoredList, chat_message, input_items
from studio.telemetry.metrics import Metrics
from studio.workbench import Workbench

router = APIRouter()


def api(
    workbench: Callable[[], Workbench],
    auth: TokenAuthenticator,
    *,
    app_url: str | None = None,
    beside_app: bool = False,
    metrics: Metrics | None = None,
) -> FastAPI:
    """The app; `workbench` may open the workbench on its first call, `metrics` count its requests.

    Links to runs begin with `app_url`, or with this server's own address where the app is beside it; else
    there are none. `state.runs` are all runs, to be stopped before the server.
    """
    app = _Api(
        title="Conductor Studio",
        version="1",
        description="Several models behind one name, in the words of OpenAI's API.",
        servers=[{"url": PATH}],
        root_path_in_servers=False,
        docs_url=None,
        redoc_url=None,
        middleware=[Middleware(RequestMeter, metrics=metrics), Middleware(UnreadBody)],
    )
    answer_in_openais_shape(app)
    # Not included as a router, whose routes the answer to a wrong method could not list.
    app.routes.extend(router.routes)
    backend = Backend(workbench)
    app.state.runs = ResponseRuns(backend, auth)
    app_url = None if app_url is None else app_url.rstrip("/")
    app.state.service = Service(backend, auth, app.state.runs, app_url=app_url, beside_app=beside_app)
    return app


@dataclass(frozen=True)
class Service:
    """What the endpoints use. `app_url` is where the app is, `beside_app` that it is on this server."""

    backend: Backend
    auth: TokenAuthenticator
    runs: ResponseRuns
    app_url: str | None
    beside_app: bool

    def app_at(self, http: Request) -> str | None:
        """The app's address for the client of this request."""
        if self.app_url is not None or not self.beside_app:
            return self.app_url
        return f"{http.url.scheme}://{http.url.netloc}{http.scope.get('root_path', '').removesuffix(PATH)}"


def _service(http: Request) -> Service:
    service: Service = http.app.state.service
    return service


# -- what is read of a request ---------------------------------------------------------------------

_BEARER = HTTPBearer(auto_error=False, scheme_name="token")


async def _principal(
    http: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> Principal:
    bearer = None if credentials is None else credentials.credentials
    client = None if http.client is None else http.client.host
    return await _service(http).auth.authenticate(bearer, client)


Authenticated = Annotated[Principal, Depends(_principal)]


async def _chat_request(http: Request, _: Authenticated) -> ChatRequest:
    return ChatRequest.read(await read_json(http))


async def _responses_request(http: Request, _: Authenticated) -> ResponsesRequest:
    return ResponsesRequest.read(await read_json(http))


async def _embeddings_request(http: Request, _: Authenticated) -> EmbeddingsRequest:
    return EmbeddingsRequest.read(await read_json(http))


# The patterns are only described: a path with a line break reaches no route.
_ResponseId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^/\r\n]+$"})]
_ModelId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^\r\n]+$"})]

# -- how endpoints are described -------------------------------------------------------------------


class _Api(FastAPI):
    """Describes the bodies, which FastAPI does not read, and none of its own errors, which never go out."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        _, bodies = models_json_schema(
            [(body, "validation") for body in (ChatRequest, ResponsesRequest, EmbeddingsRequest)],
            ref_template="#/components/schemas/{model}",
        )
        schemas.update(bodies["$defs"])
        return document


def _answering(
    name: str, body: type[RequestBody], answer: type[BaseModel], *, streams: bool = True
) -> dict[str, Any]:
    """The description of an endpoint that answers a body, whole or as a stream as well."""
    described = _returning(
        name, answer, statuses=(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 502, 503)
    )
    if streams:
        described["responses"][200] = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    content = {"application/json": {"schema": schema}}
    return {**described, "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def _returning(
    name: str, answer: type[BaseModel], *, statuses: tuple[int, ...] = (400, 401, 403, 404, 429, 503)
) -> dict[str, Any]:
    """The description of an endpoint that returns what is there."""
    errors = {status: {"model": ErrorBody, "description": "Why there is no answer."} for status in statuses}
    return {"operation_id": name, "response_model": answer, "responses": errors}


def _listing(name: str, *, filters: bool = False) -> dict[str, Any]:
    """The description of an endpoint that returns a page of a list."""
    schemas: dict[str, Any] = {
        "after": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
        "order": {"enum": ["asc", "desc"]},
        **({"model": {"type": "string"}} if filters else {}),
    }
    parameters = [{"name": each, "in": "query", "schema": schema} for each, schema in schemas.items()]
    return {**_returning(name, StoredList), "openapi_extra": {"parameters": parameters}}


# -- questions -------------------------------------------------------------------------------------


@router.post("/chat/completions", **_answering("createChatCompletion", ChatRequest, chat.ChatCompletion))
async def create_chat_completion(
    http: Request, principal: Authenticated, request: Annotated[ChatRequest, Depends(_chat_request)]
) -> Response:
    """Answer a conversation, whole or as a stream of chunks."""
    run = await _started(http, principal, request, request.question)
    if request.stream:
        return _stream(chat.chunks(request, run), principal, run)
    await _whole(http, run)
    return Json(await chat.kept_completion(request, run), headers=_headers(principal, run))


@router.post("/responses", **_answering("createResponse", ResponsesRequest, responses.ResponseObject))
async def create_response(
    http: Request, principal: Authenticated, request: Annotated[ResponsesRequest, Depends(_responses_request)]
) -> Response:
    """Answer a question, whole or as a stream of events."""
    asked, earlier = request.question, request.previous_response_id
    if earlier is not None:
        backend = _service(http).backend
        asked = request.after(await backend.look_up(stored.messages_until, earlier, token=principal.token))
    opening = responses.begun(request, started_at=time.time())
    run = await _started(http, principal, request, asked, opening=opening)
    return await _answered(http, principal, request, run)


async def _answered(
    http: Request, principal: Principal, request: ResponsesRequest, run: ResponseRun
) -> Response:
    """A response, whole, as a stream, or in the background as it begins."""
    run.on_unread = partial(responses.outcome, request, run)
    if request.stream:
        return _stream(responses.events(request, run), principal, run)
    if run.background:
        run.leave()
        return Json(responses.under_way(request, run), headers=_headers(principal, run))
    await _whole(http, run)
    return Json(await responses.response(request, run), headers=_headers(principal, run))


async def _started(
    http: Request,
    principal: Principal,
    request: ApiRequest,
    asked: Question,
    *,
    opening: Shape | None = None,
) -> ResponseRun:
    """The request's run. From here on nothing may fail before the answer is read."""
    service = _service(http)
    pool, app, stops = await service.backend.pool(), service.app_at(http), asked.stops
    try:
        wanted, stored_as = await run_request(request, asked, principal, pool, service.backend)
        return await service.runs.start(
            wanted,
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


def _stream(pieces: AsyncGenerator[bytes, None], principal: Principal, run: ResponseRun) -> EventStream:
    return EventStream(pieces, headers=_headers(principal, run), on_end=run.leave, more=run.more)


async def _whole(http: Request, run: ResponseRun) -> None:
    """Wait for the whole answer; the run is stopped where the client leaves."""
    try:
        await until_disconnect(http.receive, run.whole())
    finally:
        run.leave()


def _headers(principal: Principal, run: ResponseRun) -> dict[str, str]:
    return {**principal.headers, "x-request-id": run.session}


# -- embeddings ------------------------------------------------------------------------------------


@router.post("/embeddings", **_answering("createEmbedding", EmbeddingsRequest, EmbeddingList, streams=False))
async def create_embedding(
    http: Request,
    principal: Authenticated,
    request: Annotated[EmbeddingsRequest, Depends(_embeddings_request)],
) -> Response:
    """Pass texts on to the endpoint of one worker, which makes vectors of them."""
    service = _service(http)
    worker = embedding_worker(request, await service.backend.pool(), principal)
    answer, usage = await embeddings(request, worker)
    await service.auth.record_usage(principal, usage)
    return Json(answer, headers=dict(principal.headers))


# -- stored responses ------------------------------------------------------------------------------


@router.head("/responses/{id}", include_in_schema=False)
@router.get("/responses/{id}", **_returning("getResponse", responses.ResponseObject))
async def retrieve_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Return a stored response as it was answered, or follow one, whichever process makes it."""
    reading = Reading.of(http.query_params.multi_items())
    service, headers = _service(http), dict(principal.headers)
    backend = service.backend
    found = await backend.look_up(stored.response, id, token=principal.token)
    if found.ended and not reading.stream:
        return Json(found.shape, headers=headers)
    request = responses.request_of(found.shape)
    run = FollowedRun(found, await backend.pool(), backend, service.app_at(http))
    if reading.stream:
        pieces = responses.events(request, run, after=reading.after(found))
        return EventStream(pieces, headers=headers, on_end=lambda: None)
    if await backend.look_up(stored.is_abandoned, found):
        await run.whole()
        return Json(await responses.outcome(request, run), headers=headers)
    return Json(responses.under_way(request, run), headers=headers)


@router.post("/responses/{id}/cancel", **_returning("cancelResponse", responses.ResponseObject))
async def cancel_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Stop a response that is under way, whichever process makes it; return it as it then is."""
    service = _service(http)
    found = await service.backend.look_up(stored.response, id, token=principal.token)
    if not found.ended:
        run = FollowedRun(found, await service.backend.pool(), service.backend, service.app_at(http))
        await run.stop()
    return await retrieve_response(http, principal, id)


@router.post(
    "/responses/{id}/resume",
    **_returning("resumeResponse", responses.ResponseObject, statuses=(400, 401, 403, 404, 409, 429, 503)),
)
async def resume_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Go on with a response that broke off, in the background; no finished step is called again."""
    service = _service(http)
    found = await service.backend.look_up(stored.response, id, token=principal.token)
    request, pool = responses.request_of(found.shape), await service.backend.pool()
    wanted, revision = await resumed_request(found, principal, pool, service.backend)
    run = await service.runs.start(
        wanted,
        RequestSession(token=principal.token),
        principal,
        pool=pool,
        app=service.app_at(http),
        opening=responses.begun(request, started_at=found.shape["created_at"]),
        background=True,
        resumes=revision,
        answer=found.answer,
    )
    return await _answered(http, principal, request, run)


@router.delete("/responses/{id}", **_returning("deleteResponse", responses.DeletedResponse))
async def delete_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Delete a stored response."""
    await _service(http).backend.look_up(stored.delete_response, id, token=principal.token)
    return Json({"id": id, "object": "response", "deleted": True}, headers=dict(principal.headers))


@router.head("/responses/{id}/input_items", include_in_schema=False)
@router.get("/responses/{id}/input_items", **_listing("listInputItems"))
async def list_input_items(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """List the messages, calls and results that a stored response answers, the newest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=True)
    backend = _service(http).backend
    found = await backend.look_up(stored.response, id, token=principal.token)
    turns = await backend.look_up(stored.messages_of, found)
    own = id.removeprefix(stored.RESPONSE)
    items = [item for at, turn in enumerate(turns) for item in input_items(turn, id=f"{own}_in_{at}")]
    return Json(page.list(page.behind(items)), headers=dict(principal.headers))


# -- stored chat completions -----------------------------------------------------------------------


@router.head("/chat/completions", include_in_schema=False)
@router.get("/chat/completions", **_listing("listChatCompletions", filters=True))
async def list_chat_completions(http: Request, principal: Authenticated) -> Response:
    """List the chat completions that were stored because their requests asked for it, the oldest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=False, filters=True)

    def found(store: SessionStore) -> Shape:
        every = stored.completions(
            store, token=principal.token, after=page.after, newest_first=page.newest_first
        )
        return page.list(dict(one.shape) for one in every if page.admits(one.shape))

    return Json(await _service(http).backend.look_up(found), headers=dict(principal.headers))


@router.head("/chat/completions/{id}", include_in_schema=False)
@router.get("/chat/completions/{id}", **_returning("getChatCompletion", chat.ChatCompletion))
async def retrieve_chat_completion(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Return a stored chat completion as it was answered."""
    found = await _service(http).backend.look_up(stored.completion, id, token=principal.token)
    return Json(found.shape, headers=dict(principal.headers))


@router.head("/chat/completions/{id}/messages", include_in_schema=False)
@router.get("/chat/completions/{id}/messages", **_listing("listChatCompletionMessages"))
async def list_chat_completion_messages(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """List the messages that a stored chat completion answers, the oldest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=False)
    backend = _service(http).backend
    found = await backend.look_up(stored.completion, id, token=principal.token)
    turns = await backend.look_up(stored.messages_of, found)
    items = [chat_message(turn, id=f"{id}-{at}") for at, turn in enumerate(turns)]
    return Json(page.list(page.behind(items)), headers=dict(principal.headers))


@router.delete("/chat/completions/{id}", **_returning("deleteChatCompletion", chat.DeletedCompletion))
async def delete_chat_completion(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Delete a stored chat completion."""
    await _service(http).backend.look_up(stored.delete_completion, id, token=principal.token)
    deleted = {"id": id, "object": "chat.completion.deleted", "deleted": True}
    return Json(deleted, headers=dict(principal.headers))


# -- models ----------------------------------------------------------------------------------------


# Some clients join addresses so; as the name of a model it would be empty.
@router.head("/models/", include_in_schema=False)
@router.get("/models/", include_in_schema=False)
@router.head("/models", include_in_schema=False)
@router.get("/models", **_returning("listModels", ModelList))
async def list_models(http: Request, principal: Authenticated) -> Response:
    """List the models that plan, the workers, and the newest stored workflows."""
    backend = _service(http).backend
    pool = await backend.pool()
    entries = [conductor_entry(name) for name in NAMES]
    entries += [baseline_entry(name) for name in PLAIN_BASELINES]
    entries += [worker_entry(each.card) for each in pool.workers if principal.may_use(each.card)]
    entries += [
        workflow_entry(one)
        for one in await backend.look_up(stored.newest_workflows)
        if principal.may_run(one.workflow, pool.cards)
    ]
    return Json({"object": "list", "data": entries}, headers=dict(principal.headers))


@router.head("/models/{id:path}", include_in_schema=False)
@router.get("/models/{id:path}", **_returning("retrieveModel", ModelEntry))
async def retrieve_model(http: Request, principal: Authenticated, id: _ModelId) -> Response:
    """Return one model."""
    entry = await _model_entry(id, principal, _service(http).backend)
    return Json(entry, headers=dict(principal.headers))


async def _model_entry(name: str, principal: Principal, backend: Backend) -> Shape:
    model, pool = model_of(name), await backend.pool()
    if model.kind == "conductor":
        check_planner(model, pool)
        return conductor_entry(name) if model.planner is None else baseline_entry(name, pool)
    cards = pool.cards
    if model.kind == "worker":
        card = cards.get(model.id)
        if card is None or is_computed(card) or not principal.may_use(card):
            raise unknown_model(name)
        return worker_entry(card)
    found = await backend.look_up(stored.workflow, model.id, token=principal.token)
    if found is None or not principal.may_run(found.workflow, cards):
        raise unknown_model(name)
    return workflow_entry(found)
