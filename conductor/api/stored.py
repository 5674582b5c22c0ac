"""Responses that were stored: gone on from, told again, deleted.

A response is known by its session's id. One that another token's request began is not there: nobody is told
that it exists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conductor.api.caller import Caller
from conductor.api.errors import ApiError
from conductor.api.orchestra import Answered, Orchestra
from conductor.api.schemas_responses import ResponsesRequest
from conductor.api.steering import Wish
from conductor.conversation import Conversation, Turn

_PREFIX = "resp_"
_NOT_THERE = "was not stored, was deleted since, or is another token's"


def response_id(session: str) -> str:
    """The id of a session's response."""
    return f"{_PREFIX}{session}"


async def continued(request: ResponsesRequest, wish: Wish, caller: Caller, orchestra: Orchestra) -> Wish:
    """The wish as it goes on from an earlier response, whose instructions are not taken over."""
    id = request.previous_response_id
    if id is None:
        return wish
    session = _session_of(id)
    found = None if session is None else await orchestra.answered(session, token=caller.token)
    answer = None if found is None else _answer_of(found)
    if found is None or answer is None:
        message = (
            f"There is no response {id[:200]!r} to go on from: it gave no answer, {_NOT_THERE}. "
            "Give the messages themselves."
        )
        raise ApiError(message, param="previous_response_id", code="previous_response_not_found")
    turns = (
        *found.conversation.turns,
        Turn(role="user", text=found.query),
        Turn(role="assistant", text=answer),
        *wish.conversation.turns,
    )
    conversation = Conversation(instructions=wish.conversation.instructions, turns=turns)
    return replace(wish, conversation=conversation)


def _answer_of(found: Answered) -> str | None:
    """What the client was told, else what there was to tell; None where that is nothing.

    In the app the session may have another answer by now.
    """
    if found.response is None:
        return found.answer
    items = json.loads(found.response)["output"]
    return "".join(part["text"] for item in items for part in item["content"]) or None


async def told_again(id: str, caller: Caller, orchestra: Orchestra) -> str:
    """The body with which it was answered. Raises `ApiError` where there is no such response."""
    session = _session_of(id)
    body = None if session is None else await orchestra.response(session, token=caller.token)
    if body is None:
        raise _not_found(id)
    return body


async def deleted(id: str, caller: Caller, orchestra: Orchestra) -> dict[str, Any]:
    """What is said once it is deleted. Raises `ApiError` where there is no such response."""
    session = _session_of(id)
    if session is None or not await orchestra.delete(session, token=caller.token):
        raise _not_found(id)
    return {"id": id, "object": "response", "deleted": True}


def check_asked_plainly(parameters: Iterable[tuple[str, str]]) -> None:
    """Raise `ApiError` for a parameter of the address that asks for more than the response as it is."""
    for name, value in parameters:
        if (name, value) != ("stream", "false"):
            param = name[:200]
            message = f"'{param}' cannot be honoured here: a response is told whole, as it was answered."
            raise ApiError(message, param=param, code="unsupported_parameter")


def _session_of(id: str) -> str | None:
    return id.removeprefix(_PREFIX) if id.startswith(_PREFIX) else None


def _not_found(id: str) -> ApiError:
    message = f"There is no response {id[:200]!r}: it {_NOT_THERE}."
    return ApiError(message, status=404, param="response_id", code="response_not_found")
