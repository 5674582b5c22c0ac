"""The endpoints of stored responses: read, follow, stop, resume and delete one."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from storage.records import RequestSession
from studio.api.answers import responses
from studio.api.answers.followed_run import FollowedRun
from studio.api.answers.response_run import Rerun
from studio.api.answers.streaming import EventStream
from studio.api.endpoints.answering import answered
from studio.api.endpoints.description import listing, resuming, returning
from studio.api.endpoints.service import Authenticated, StoredId, service_of, unheeded_header
from studio.api.error_answers import Json
from studio.api.requests.response_reading import ResponseReading
from studio.api.requests.resumed_request import Resumption, resumed_request, resumption
from studio.api.stored import visible
from studio.api.stored.lists import Page, input_items

router = APIRouter()


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
