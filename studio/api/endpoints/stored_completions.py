"""The endpoints of stored chat completions: list, read, label and delete them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from storage.store import SessionStore
from studio.api.answers import chat
from studio.api.answers.run_metadata import Shape
from studio.api.endpoints.description import answering, listing, returning
from studio.api.endpoints.service import Authenticated, StoredId, service_of
from studio.api.error_answers import Json
from studio.api.requests.body import read_json
from studio.api.requests.chat_request import MetadataChange
from studio.api.stored import visible
from studio.api.stored.lists import Page, chat_message

router = APIRouter()


async def _metadata_change(http: Request, _: Authenticated) -> MetadataChange:
    return MetadataChange.read(await read_json(http))


@router.head("/chat/completions", include_in_schema=False)
@router.get("/chat/completions", **listing("listChatCompletions", filters=True))
async def list_chat_completions(http: Request, principal: Authenticated) -> Response:
    """List the chat completions that were stored because their requests asked for it, the oldest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=False, filters=True)

    def shape_of(store: SessionStore) -> Shape:
        every = visible.completions(
            store, token=principal.token, after=page.after, newest_first=page.newest_first
        )
        return page.list(dict(one.shape) for one in every if page.admits(one.shape))

    return Json(await service_of(http).backend.look_up(shape_of), headers=dict(principal.headers))


@router.head("/chat/completions/{id}", include_in_schema=False)
@router.get("/chat/completions/{id}", **returning("getChatCompletion", chat.ChatCompletion))
async def retrieve_chat_completion(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Return a stored chat completion as it was answered."""
    completion = await service_of(http).backend.look_up(visible.completion, id, token=principal.token)
    return Json(completion.shape, headers=dict(principal.headers))


@router.post(
    "/chat/completions/{id}",
    **answering("updateChatCompletion", MetadataChange, chat.ChatCompletion, streams=False),
)
async def update_chat_completion(
    http: Request,
    principal: Authenticated,
    id: StoredId,
    change: Annotated[MetadataChange, Depends(_metadata_change)],
) -> Response:
    """Change the metadata of a stored chat completion; return it."""
    change_metadata = partial(visible.with_metadata, metadata=change.metadata or {}, token=principal.token)
    shape = await service_of(http).backend.look_up(change_metadata, id)
    return Json(shape, headers=dict(principal.headers))


@router.head("/chat/completions/{id}/messages", include_in_schema=False)
@router.get("/chat/completions/{id}/messages", **listing("listChatCompletionMessages"))
async def list_chat_completion_messages(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """List the messages that a stored chat completion answers, the oldest first."""
    page = Page.of(http.query_params.multi_items(), newest_first=False)
    backend = service_of(http).backend
    completion = await backend.look_up(visible.completion, id, token=principal.token)
    turns = await backend.look_up(visible.messages_of, completion)
    items = [chat_message(turn, id=f"{id}-{at}") for at, turn in enumerate(turns)]
    return Json(page.list(page.behind(items)), headers=dict(principal.headers))


@router.delete("/chat/completions/{id}", **returning("deleteChatCompletion", chat.DeletedCompletion))
async def delete_chat_completion(http: Request, principal: Authenticated, id: StoredId) -> Response:
    """Delete a stored chat completion."""
    await service_of(http).backend.look_up(visible.delete_completion, id, token=principal.token)
    deleted = {"id": id, "object": "chat.completion.deleted", "deleted": True}
    return Json(deleted, headers=dict(principal.headers))
