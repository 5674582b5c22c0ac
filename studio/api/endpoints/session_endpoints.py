"""The endpoints of sessions: list, read, delete and export them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.access.auth import Principal
from studio.api.endpoints.description import returning, sending
from studio.api.endpoints.service import Authenticated, StoredId, service_of
from studio.api.error_answers import Json, unsupported
from studio.api.stored import sessions
from studio.api.stored.lists import StoredList

router = APIRouter()

_MEDIA_TYPE = "application/jsonl"
_PIECE = 256 * 1024


@router.head("/sessions", include_in_schema=False)
@router.get("/sessions", **returning("listSessions", StoredList))
async def list_sessions(
    http: Request, principal: Authenticated, page: Annotated[sessions.SessionPage, Query()]
) -> Response:
    """List the sessions that the token began, last updated first."""
    shape = await service_of(http).backend.look_up(sessions.listed, page, token=principal.token)
    return Json(shape, headers=dict(principal.headers))


@router.get("/sessions/export", **sending("exportSessions", _MEDIA_TYPE))
async def export_sessions(
    http: Request, principal: Authenticated, criteria: Annotated[sessions.SessionCriteria, Query()]
) -> Response:
    """Send the sessions that the token began as one session file, last updated first."""
    file = await service_of(http).backend.look_up(sessions.exported_all, criteria, token=principal.token)
    return _session_file(file, principal, name="sessions")


@router.head("/sessions/{id}", include_in_schema=False)
@router.get("/sessions/{id}", **returning("getSession", sessions.SessionObject))
async def retrieve_session(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Return a session with its plans, revisions, runs and notes."""
    shape = await service_of(http).backend.look_up(sessions.session_object, id, token=principal.token)
    return Json(shape, headers=dict(principal.headers))


@router.get("/sessions/{id}/export", **sending("exportSession", _MEDIA_TYPE))
async def export_session(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Send a session as a session file."""
    file = await service_of(http).backend.look_up(sessions.exported, id, token=principal.token)
    return _session_file(file, principal, name=id)


@router.delete(
    "/sessions/{id}",
    **returning("deleteSession", sessions.DeletedSession, statuses=(400, 401, 403, 404, 409, 429, 503)),
)
async def delete_session(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Delete a session that the token began. The app can restore it."""
    for name in http.query_params:
        raise unsupported(name[:200], "a session is deleted so that the app can restore it.")
    await service_of(http).backend.look_up(sessions.delete, id, token=principal.token)
    deleted = {"id": id, "object": "session.deleted", "deleted": True}
    return Json(deleted, headers=dict(principal.headers))


def _session_file(file: IO[bytes], principal: Principal, *, name: str) -> Response:
    headers = {
        **principal.headers,
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": f'attachment; filename="{name}.session.jsonl"',
    }
    return StreamingResponse(_pieces(file), media_type=_MEDIA_TYPE, headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
