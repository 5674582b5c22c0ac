"""The API as an ASGI app, to be mounted at `/v1`: its endpoints and its OpenAPI document.

Bodies are read by the requests' own schemas, because FastAPI would parse them before their values are counted
and would answer with errors of its own shape. Knows no Streamlit and no store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from conductor.errors import ConductorError
from conductor.values.conversation import Conversation
from conductor.workers.pool.pool import Pool
from studio.access.auth import Authenticator, Principal
from studio.access.exposure import PATH
from studio.api import chat, responses, stored
from studio.api.backend import StoreBackend
from studio.api.chat import Metadata, Shape
from studio.api.errors import ErrorBody, Json, answer_in_openais_shape, api_error
from studio.api.models import (
    ConductorModel,
    ModelEntry,
    ModelList,
    WorkerModel,
    conductor_entries,
    listing,
    model_of,
    unknown_model,
    worker_entry,
    workflow_entry,
)
from studio.api.request_options import run_request
from studio.api.requests.body import UnreadBody, read_json
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.requests.schema import ApiRequest
from studio.api.response_run import ResponseRun, ResponseRuns
from studio.api.run_metadata import run_metadata
from studio.api.streaming import EventStream, until_disconnect


def api(
    backend: StoreBackend, auth: Authenticator, *, app_url: str | None = None, beside_app: bool = False
) -> FastAPI:
    """The app. Links to runs begin with `app_url`, or with this server's own address where the app is beside
    it; else there are none. `state.runs` are all runs, to be stopped before the server.
    """
    app = _Api(
        title="Conductor Studio",
        version="1",
        description="Several models behind one name, in the words of OpenAI's API.",
        servers=[{"url": PATH}],
        root_path_in_servers=False,
        docs_url=None,
        redoc_url=None,
        middleware=[Middleware(UnreadBody)],
    )
    answer_in_openais_shape(app)
    app.post("/chat/completions", **_answering("createChatCompletion", ChatRequest, chat.ChatCompletion))(
        create_chat_completion
    )
    app.post("/responses", **_answering("createResponse", ResponsesRequest, responses.ResponseObject))(
        create_response
    )
    stored_response = "/responses/{id}"
    _get(app, stored_response, retrieve_response, **_returning("getResponse", responses.ResponseObject))
    app.delete(stored_response, **_returning("deleteResponse", responses.DeletedResponse))(delete_response)
    _get(app, "/models", list_models, **_returning("listModels", ModelList))
    # Some clients join addresses so; as the name of a model it would be empty.
    _get(app, "/models/", list_models, include_in_schema=False)
    _get(app, "/models/{id:path}", retrieve_model, **_returning("retrieveModel", ModelEntry))
    runs = ResponseRuns(backend, auth)
    app_url = None if app_url is None else app_url.rstrip("/")
    app.state.service = Service(backend, auth, runs, app_url=app_url, beside_app=beside_app)
    app.state.runs = runs
    return app


@dataclass(frozen=True)
class Service:
    """What the endpoints use. `app_url` is where the app is, `beside_app` that it is on this server."""

    backend: StoreBackend
    auth: Authenticator
    runs: ResponseRuns
    app_url: str | None
    beside_app: bool

    async def start(
        self,
        request: ApiRequest,
        history: Conversation,
        principal: Principal,
        pool: Pool,
        *,
        stops: Sequence[str] = (),
    ) -> ResponseRun:
        """Start the request's run. From here on nothing may fail before its answer is read."""
        try:
            wanted, stored_as = await run_request(request, history, principal, pool, self.backend)
            return await self.runs.start(wanted, stored_as, principal, stops=stops)
        except ConductorError as error:
            raise api_error(error, query_parameter=request.query_parameter) from error

    def metadata(self, http: Request, request: ApiRequest, pool: Pool) -> Metadata:
        """Makes the object `conductor`, for the pool as it was at the start. Only a session that is stored
        gets a link.
        """
        app = self._app_url(http)

        def metadata(run: ResponseRun) -> Shape:
            return run_metadata(
                run.answer,
                session=run.session,
                seconds=run.seconds,
                workers=pool.names,
                label=pool.label,
                url=f"{app}/?session={run.session}" if app is not None and run.stored else None,
                without_effect=request.ignored,
            )

        return metadata

    def _app_url(self, http: Request) -> str | None:
        if self.app_url is not None or not self.beside_app:
            return self.app_url
        return f"{http.url.scheme}://{http.url.netloc}{http.scope.get('root_path', '').removesuffix(PATH)}"


# -- parameters of the endpoints -------------------------------------------------------------------

_BEARER = HTTPBearer(auto_error=False, scheme_name="token")


def _service(http: Request) -> Service:
    service: Service = http.app.state.service
    return service


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


# The patterns are only described: a path with a line break reaches no route.
_ResponseId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^/\r\n]+$"})]
_ModelId = Annotated[str, Path(json_schema_extra={"pattern": r"^[^\r\n]+$"})]

# -- endpoints -------------------------------------------------------------------------------------


async def create_chat_completion(
    http: Request, principal: Authenticated, request: Annotated[ChatRequest, Depends(_chat_request)]
) -> Response:
    """Answer a conversation, whole or as a stream of chunks."""
    service = _service(http)
    pool = await service.backend.pool()
    run = await service.start(request, request.history, principal, pool, stops=request.stops)
    metadata = service.metadata(http, request, pool)
    if request.stream:
        pieces = chat.chunks(request, run, metadata)
        return EventStream(pieces, headers=_headers(principal, run), on_end=run.leave)
    await _whole(http, run)
    return Json(chat.completion(request, run, metadata), headers=_headers(principal, run))


async def create_response(
    http: Request, principal: Authenticated, request: Annotated[ResponsesRequest, Depends(_responses_request)]
) -> Response:
    """Answer a question, whole or as a stream of events."""
    service = _service(http)
    history = await responses.full_history(request, principal, service.backend)
    pool = await service.backend.pool()
    run = await service.start(request, history, principal, pool)
    metadata = service.metadata(http, request, pool)
    if request.stream:
        pieces = responses.events(request, run, metadata)
        return EventStream(pieces, headers=_headers(principal, run), on_end=run.leave)
    await _whole(http, run)
    return Json(await responses.response(request, run, metadata), headers=_headers(principal, run))


async def retrieve_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Return a stored response as it was answered."""
    responses.check_query_string(http.query_params.multi_items())
    body = await responses.stored_body(id, principal, _service(http).backend)
    return Response(body, media_type="application/json", headers=dict(principal.headers))


async def delete_response(http: Request, principal: Authenticated, id: _ResponseId) -> Response:
    """Delete a stored response."""
    deleted = await responses.delete(id, principal, _service(http).backend)
    return Json(deleted, headers=dict(principal.headers))


async def list_models(http: Request, principal: Authenticated) -> Response:
    """List the models that plan, the workers, and the newest stored workflows."""
    backend = _service(http).backend
    cards = (await backend.pool()).cards
    workers = [worker_entry(card) for card in cards.values() if principal.may_use(card)]
    workflows = [
        workflow_entry(one)
        for one in await backend.look_up(stored.newest_workflows)
        if principal.may_run(one.workflow, cards)
    ]
    entries = [*conductor_entries(), *workers, *workflows]
    return Json(listing(entries), headers=dict(principal.headers))


async def retrieve_model(http: Request, principal: Authenticated, id: _ModelId) -> Response:
    """Return one model."""
    entry = await _model_entry(id, principal, _service(http).backend)
    return Json(entry, headers=dict(principal.headers))


async def _model_entry(name: str, principal: Principal, backend: StoreBackend) -> Shape:
    model = model_of(name)
    if isinstance(model, ConductorModel):
        return next(entry for entry in conductor_entries() if entry["id"] == name)
    cards = (await backend.pool()).cards
    if isinstance(model, WorkerModel):
        card = cards.get(model.name)
        if card is None or not principal.may_use(card):
            raise unknown_model(name)
        return worker_entry(card)
    found = await backend.look_up(stored.workflow, model.id, token=principal.token)
    if found is None or not principal.may_run(found.workflow, cards):
        raise unknown_model(name)
    return workflow_entry(found)


async def _whole(http: Request, run: ResponseRun) -> None:
    """Wait for the whole answer; the run is stopped where the client leaves."""
    try:
        await until_disconnect(http.receive, run.whole())
    finally:
        run.leave()


def _headers(principal: Principal, run: ResponseRun) -> dict[str, str]:
    return {**principal.headers, "x-request-id": run.session}


# -- the OpenAPI document --------------------------------------------------------------------------


class _Api(FastAPI):
    """Describes the bodies, which FastAPI does not read, and none of its own errors, which never go out."""

    def openapi(self) -> dict[str, Any]:
        """See `FastAPI.openapi`."""
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
            [(ChatRequest, "validation"), (ResponsesRequest, "validation")],
            ref_template="#/components/schemas/{model}",
        )
        schemas.update(bodies["$defs"])
        return document


def _get(app: FastAPI, path: str, endpoint: Callable[..., Any], **description: Any) -> None:
    """A route for GET, and for HEAD, which FastAPI does not add."""
    app.get(path, **description)(endpoint)
    app.head(path, include_in_schema=False)(endpoint)


def _answering(name: str, body: type[ApiRequest], answer: type[BaseModel]) -> dict[str, Any]:
    """The description of an endpoint that answers a question, whole or as a stream."""
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    stream = {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "operation_id": name,
        "response_model": answer,
        "responses": {
            200: {"content": stream},
            **_errors(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 502, 503),
        },
        "openapi_extra": {
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}
        },
    }


def _returning(name: str, answer: type[BaseModel]) -> dict[str, Any]:
    """The description of an endpoint that returns what is there."""
    return {
        "operation_id": name,
        "response_model": answer,
        "responses": _errors(400, 401, 403, 404, 429, 503),
    }


def _errors(*statuses: int) -> dict[int, Any]:
    return {status: {"model": ErrorBody, "description": "Why there is no answer."} for status in statuses}
