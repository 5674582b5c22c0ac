"""The endpoints of stored responses: read, follow, stop, resume and delete one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from storage.records import RequestSession
from studio.access.errors import ApiError
from studio.api.answers import responses
from studio.api.answers.followed_run import FollowedRun
from studio.api.answers.response_run import Rerun
from studio.api.answers.streaming import EventStream
from studio.api.endpoints.answering import answered
from studio.api.endpoints.description import listing, resuming, returning
from studio.api.endpoints.service import Authenticated, StoredId, service_of, unheeded_header
from studio.api.error_answers import Json, unsupported
from studio.api.requests.resumed_request import Resumption, resumed_request, resumption
from studio.api.stored import visible
from studio.api.stored.lists import Page, input_items
from studio.api.stored.visible import StoredResponse

router = APIRouter()


@dataclass(frozen=True)
class ResponseReading:
    """`starting_after` is the number of the last event that the client has; None: it has none. `ignored` are
    the parameters that have no effect: a response is sent as it was answered.
    """

    stream: bool = False
    starting_after: int | None = None
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> ResponseReading:
        """What a query string asks for. Raises `ApiError` for a parameter that cannot be honoured."""
        values: dict[str, str] = {}
        ignored: list[str] = []
        for name, value in parameters:
            if name not in ("stream", "starting_after"):
                if (name, value) != ("include_obfuscation", "false"):
                    ignored.append(name.removesuffix("[]"))
                continue
            if name in values:
                message = f"'{name}' is given twice; take one out."
                raise ApiError(message, param=name, code="invalid_value")
            values[name] = value
        stream, after = values.get("stream", "false"), values.get("starting_after")
        if stream not in ("true", "false"):
            raise ApiError("'stream' is true or false.", param="stream", code="invalid_value")
        if after is None:
            return cls(stream=stream == "true", ignored=tuple(ignored))
        if stream == "false":
            raise unsupported("starting_after", "nothing is streamed.")
        if not (after.isascii() and after.isdecimal() and len(after) <= 9):
            message = "'starting_after' is the number of an event, from 0."
            raise ApiError(message, param="starting_after", code="invalid_value")
        return cls(stream=True, starting_after=int(after), ignored=tuple(ignored))

    def after(self, response: StoredResponse) -> int:
        """The number after which events are sent. Raises `ApiError` where they had other numbers."""
        if self.starting_after is None:
            return -1
        if response.origin is not None and response.origin.events:
            raise unsupported(
                "starting_after",
                "this stream also has the run's events, which are not sent again; leave it out to read the "
                "answer from its beginning.",
            )
        return self.starting_after


@router.head("/responses/{id}", include_in_schema=False)
@router.get("/responses/{id}", **returning("getResponse", responses.ResponseObject))
async def retrieve_response(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Return a stored response as it was answered, or follow one, whichever process makes it."""
    reading = ResponseReading.of(http.query_params.multi_items())
    service, headers = service_of(http), {**principal.headers, **unheeded_header(reading.ignored)}
    backend = service.backend
    response = await backend.look_up(visible.response, id, token=principal.token)
    if response.ended and not reading.stream:
        return Json(response.shape, headers=headers)
    request = responses.request_of(response.shape)
    run = FollowedRun(response, await backend.pool(), backend, service.app_at(http))
    if reading.stream:
        pieces = responses.events(request, run, after=reading.after(response))
        return EventStream(pieces, headers=headers, on_end=lambda: None)
    if await backend.look_up(visible.is_abandoned, response):
        await run.whole()
        return Json(await responses.outcome(request, run), headers=headers)
    return Json(responses.under_way(request, run), headers=headers)


@router.post("/responses/{id}/cancel", **returning("cancelResponse", responses.ResponseObject))
async def cancel_response(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Stop a response that is under way, whichever process makes it; return it as it then is."""
    service = service_of(http)
    response = await service.backend.look_up(visible.response, id, token=principal.token)
    await service.backend.look_up(visible.check_own, response, principal.token, "response")
    if not response.ended:
        run = FollowedRun(response, await service.backend.pool(), service.backend, service.app_at(http))
        await run.stop()
    return await retrieve_response(http, principal, id)


@router.post(
    "/responses/{id}/resume",
    **resuming("resumeResponse", Resumption, responses.ResponseObject),
)
async def resume_response(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Go on with a response that broke off or waits for a person, in the background, without calling a
    finished step again. A body may decide the calls of tools that it waits with.
    """
    service, how = service_of(http), await resumption(http)
    response = await service.backend.look_up(visible.response, id, token=principal.token)
    request, pool = responses.request_of(response.shape), await service.backend.pool()
    work, revision, scope = await resumed_request(response, how, principal, pool, service.backend)
    run = await service.runs.start(
        work,
        RequestSession(token=principal.token),
        principal,
        pool=pool,
        app=service.app_at(http),
        opening=responses.opening_shape(request, started_at=response.shape["created_at"]),
        background=True,
        resumes=Rerun(revision, scope),
        answer=response.answer,
        goes_on_since=response.shape["created_at"],
    )
    return await answered(http, principal, request, run)


@router.delete("/responses/{id}", **returning("deleteResponse", responses.DeletedResponse))
async def delete_response(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Delete a stored response."""
    await service_of(http).backend.look_up(visible.delete_response, id, token=principal.token)
    return Json({"id": id, "object": "response", "deleted": True}, headers=dict(principal.headers))


@router.head("/responses/{id}/input_items", include_in_schema=False)
@router.get("/responses/{id}/input_items", **listing("listInputItems"))
async def list_input_items(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """List the messages, calls and results that a stored response answers, the newest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=True, includes=True)
    backend = service_of(http).backend
    response = await backend.look_up(visible.response, id, token=principal.token)
    turns = await backend.look_up(visible.messages_of, response)
    own = id.removeprefix(visible.RESPONSE)
    names = response.tool_names
    items = [item for at, turn in enumerate(turns) for item in input_items(turn, names, id=f"{own}_in_{at}")]
    headers = {**principal.headers, **unheeded_header(page.ignored)}
    return Json(page.list(page.behind(items)), headers=headers)
