"""The API as an ASGI app, to be mounted at `/v1`. Puts the parts together; knows no Streamlit and no store.

Every answer but a stream is JSON, errors included, in OpenAI's shape.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conductor.api import chat, responses, stored
from conductor.api.account import account
from conductor.api.body import BoundedBody
from conductor.api.caller import Caller, Gate
from conductor.api.chat import Account, Shape
from conductor.api.delivery import Afterwards, Delivery
from conductor.api.document import document
from conductor.api.errors import ApiError
from conductor.api.models import (
    OneWorker,
    Planned,
    conductor_shapes,
    listing,
    model_of,
    unknown_model,
    worker_shape,
    workflow_shape,
)
from conductor.api.orchestra import Orchestra
from conductor.api.outcome import BROKE, trouble
from conductor.api.sse import EventStream, until_gone
from conductor.api.steering import Wish, task_of
from conductor.errors import ConductorError
from conductor.workers.pool import Pool

PATH = "/v1"
"""Where the app is mounted."""


class Json(JSONResponse):
    """Written in ASCII, which has a sign for all that a model can say, halves of characters included."""

    def render(self, content: object) -> bytes:
        """See `JSONResponse`."""
        return json.dumps(content).encode()


@dataclass
class Api:
    """The endpoints. `app_url` is where the app is; `beside_app`: on this server. Else it is nowhere."""

    orchestra: Orchestra
    gate: Gate
    app_url: str | None = None
    beside_app: bool = False
    afterwards: Afterwards = field(default_factory=Afterwards)

    async def chat(self, http: Request) -> Response:
        """`POST /v1/chat/completions`."""
        caller = await self._admitted(http)
        request = chat.chat_request(await _body(http))
        pool = await self.orchestra.pool()
        delivery = await self._begun(
            chat.wish_of(request), caller, pool, stops=chat.stops_of(request), live=bool(request.stream)
        )
        told = self._account(http, pool, chat.without_effect(request))
        headers = _headers(caller, delivery)
        if request.stream:
            return EventStream(chat.chunks(request, delivery, told), headers=headers, ended=delivery.leave)
        await _heard(http, delivery)
        return Json(chat.completion(request, delivery, told), headers=headers)

    async def responses(self, http: Request) -> Response:
        """`POST /v1/responses`."""
        caller = await self._admitted(http)
        request = responses.responses_request(await _body(http))
        wish = await stored.continued(request, responses.wish_of(request), caller, self.orchestra)
        pool = await self.orchestra.pool()
        delivery = await self._begun(wish, caller, pool, stops=(), live=bool(request.stream))
        told = self._account(http, pool, responses.without_effect(request))
        headers = _headers(caller, delivery)
        if request.stream:
            pieces = responses.events(request, delivery, told)
            return EventStream(pieces, headers=headers, ended=delivery.leave)
        await _heard(http, delivery)
        return Json(await responses.response(request, delivery, told), headers=headers)

    async def response(self, http: Request) -> Response:
        """`GET` and `DELETE /v1/responses/{id}`: one that was stored."""
        caller = await self._admitted(http)
        id, headers = http.path_params["id"], dict(caller.headers)
        if http.method == "DELETE":
            return Json(await stored.deleted(id, caller, self.orchestra), headers=headers)
        stored.check_asked_plainly(http.query_params.multi_items())
        body = await stored.told_again(id, caller, self.orchestra)
        return Response(body, media_type="application/json", headers=headers)

    async def models(self, http: Request) -> Response:
        """`GET /v1/models`: who plans, the workers, and the newest workflows."""
        caller = await self._admitted(http)
        cards = (await self.orchestra.pool()).cards
        workers = [worker_shape(card) for card in cards.values() if caller.may_have(card)]
        saved = [
            workflow_shape(one)
            for one in await self.orchestra.newest_saved()
            if caller.may_run(one.workflow, cards)
        ]
        return Json(listing([*conductor_shapes(), *workers, *saved]), headers=dict(caller.headers))

    async def model(self, http: Request) -> Response:
        """`GET /v1/models/{id}`."""
        caller = await self._admitted(http)
        name = http.path_params["id"]
        return Json(await self._model(name, caller), headers=dict(caller.headers))

    async def _model(self, name: str, caller: Caller) -> Shape:
        model = model_of(name)
        if isinstance(model, Planned):
            return next(shape for shape in conductor_shapes() if shape["id"] == name)
        cards = (await self.orchestra.pool()).cards
        if isinstance(model, OneWorker):
            card = cards.get(model.name)
            if card is None or not caller.may_have(card):
                raise unknown_model(name)
            return worker_shape(card)
        saved = await self.orchestra.saved(model.id, token=caller.token)
        if saved is None or not caller.may_run(saved.workflow, cards):
            raise unknown_model(name)
        return workflow_shape(saved)

    # -- parts of a request ------------------------------------------------------------------------

    async def _admitted(self, http: Request) -> Caller:
        client = None if http.client is None else http.client.host
        return await self.gate.admit(dict(http.headers), client)

    async def _begun(
        self, wish: Wish, caller: Caller, pool: Pool, *, stops: tuple[str, ...], live: bool
    ) -> Delivery:
        """From here on it goes on: nothing may fail before somebody listens."""
        try:
            task = await task_of(wish, caller, pool, self.orchestra)
            return await Delivery.begin(
                task,
                stops=stops,
                live=live,
                orchestra=self.orchestra,
                gate=self.gate,
                caller=caller,
                afterwards=self.afterwards,
            )
        except ConductorError as error:
            raise trouble(error, query_in=wish.query_in) from error

    def _account(self, http: Request, pool: Pool, without_effect: list[str]) -> Account:
        """Who tells of a delivery that is over, with the pool as it was before it began; where its session
        is not kept, no link leads there.
        """
        app = self._app_of(http)

        def told(delivery: Delivery) -> Shape:
            return account(
                delivery.answer,
                session=delivery.session,
                seconds=delivery.seconds,
                workers=pool.names,
                label=pool.label,
                url=f"{app}/?session={delivery.session}" if app is not None and delivery.kept else None,
                without_effect=without_effect,
            )

        return told

    def _app_of(self, http: Request) -> str | None:
        if self.app_url is not None or not self.beside_app:
            return self.app_url
        return f"{http.url.scheme}://{http.url.netloc}{http.scope.get('root_path', '').removesuffix(PATH)}"


def api(
    orchestra: Orchestra, gate: Gate, *, app_url: str | None = None, beside_app: bool = False
) -> Starlette:
    """The app. Links to runs begin with `app_url`, or with this server's own address where the app is beside
    it; else there are none. `state.afterwards` is what is left to do behind answers.
    """
    if app_url is not None:
        app_url = app_url.rstrip("/")
    endpoints = Api(orchestra, gate, app_url=app_url, beside_app=beside_app)
    app = Starlette(
        routes=[
            Route("/chat/completions", endpoints.chat, methods=["POST"]),
            Route("/responses", endpoints.responses, methods=["POST"]),
            Route("/responses/{id}", endpoints.response, methods=["GET", "DELETE"]),
            Route("/models", endpoints.models, methods=["GET"]),
            Route("/models/{id:path}", endpoints.model, methods=["GET"]),
            Route("/openapi.json", _document, methods=["GET"]),
        ],
        middleware=[Middleware(BoundedBody)],
        exception_handlers={
            ConductorError: _refused,
            HTTPException: no_such_route,
            Exception: _broke,
        },
    )
    app.state.afterwards = endpoints.afterwards
    return app


async def _document(_: Request) -> Response:
    return Json(document())


async def _body(http: Request) -> bytes:
    """The request's body. Raises `ApiError` where it is not sent as JSON."""
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = "Send the request as JSON, with the header `Content-Type: application/json`."
        raise ApiError(message, status=415, code="unsupported_media_type")
    return await http.body()


async def _heard(http: Request, delivery: Delivery) -> None:
    """Wait for the whole answer; the run is stopped where nobody waits for it any more."""
    try:
        await until_gone(http.receive, delivery.whole())
    finally:
        delivery.leave()


def _headers(caller: Caller, delivery: Delivery) -> dict[str, str]:
    return {**caller.headers, "x-request-id": delivery.session}


# -- errors ----------------------------------------------------------------------------------------


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, ConductorError), "registered for these only"
    said = trouble(error, query_in="messages")
    return Json(said.shape, status_code=said.status, headers=dict(said.headers))


async def no_such_route(http: Request, error: Exception) -> Response:
    """The answer where there is no such address, or not by this method."""
    assert isinstance(error, HTTPException), "registered for these only"
    code = {404: "unknown_url", 405: "method_not_allowed"}.get(error.status_code)
    path = json.dumps(http.url.path[:200])
    said = ApiError(f"{error.detail}: {http.method} {path}.", status=error.status_code, code=code)
    return Json(said.shape, status_code=said.status, headers=dict(error.headers or {}))


async def _broke(_: Request, error: Exception) -> Response:  # noqa: ARG001 - the server's log tells of it
    said = ApiError(BROKE, status=500, type="server_error", code="server_error")
    return Json(said.shape, status_code=500, headers={"x-should-retry": "false"})
