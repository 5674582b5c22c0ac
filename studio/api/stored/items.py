"""The items of stored responses, by their ids: those that a request refers to in its input.

Knows the store and whose response it is; knows no HTTP. A token is as in `visible`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from storage.store import SessionStore
from studio.access.errors import ApiError
from studio.api.sealed_thoughts import SealedThoughts
from studio.api.stored import visible
from studio.api.stored.lists import Shape, input_items
from studio.api.stored.visible import StoredResponse

_INPUT = "_in_"
"""What stands in an item's id between its response's and the number of a message that this answers."""

_OF_STORED = ("id", "status")
"""What an item has because it is stored."""


def with_items(
    store: SessionStore, body: bytes, references: Mapping[int, str], *, token: str | None
) -> bytes:
    """The body of a request whose items at these positions of its input stand in the place of their ids.

    Raises `ApiError` for an id of no item that this token may read.
    """
    request = json.loads(body)
    stored: dict[str, Mapping[str, Shape]] = {}
    for at, id in references.items():
        session = _session(id)
        if session not in stored:
            stored[session] = dict(_items(store, session, token=token))
        item = stored[session].get(id)
        if item is None:
            param = f"input.{at}.id"
            message = (
                f"Invalid value for '{param}': there is no item {id!r}: its response was not stored, was "
                "deleted since, or is another token's. Send the item itself."
            )
            raise ApiError(message, param=param, code="item_not_found")
        request["input"][at] = {name: value for name, value in item.items() if name not in _OF_STORED}
    return json.dumps(request).encode()


def _session(id: str) -> str:
    """The session in the id of an item, which stands behind the item's kind."""
    return id.partition("_")[2].partition("_")[0]


def _items(store: SessionStore, session: str, *, token: str | None) -> Iterator[tuple[str, Shape]]:
    """All items of the session's responses, and of what these answer."""
    if visible.visible_session(store, session, token=token) is None:
        return
    for text in store.requests.responses_of(session):
        response = StoredResponse.read(session, text)
        if response.shape["object"] == "response":
            for item in (*_output(store, response), *_input(store, response)):
                yield item["id"], item


def _output(store: SessionStore, response: StoredResponse) -> Iterator[Shape]:
    """The items of the answer: thoughts have what their worker is to be sent again, whether or not the
    client asked for it.
    """
    for item in response.shape["output"]:
        if item["type"] != "reasoning":
            yield item
            continue
        output = visible.output_of(store, response)
        sealed = None if output is None else SealedThoughts.of(output)
        yield item if sealed is None else {**item, "encrypted_content": sealed.text}


def _input(store: SessionStore, response: StoredResponse) -> Iterator[Shape]:
    id = str(response.shape["id"]).removeprefix(visible.RESPONSE)
    for at, turn in enumerate(visible.messages_of(store, response)):
        yield from input_items(turn, response.tool_names, id=f"{id}{_INPUT}{at}")
