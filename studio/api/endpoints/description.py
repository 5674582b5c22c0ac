"""Describes endpoints in the API's OpenAPI document."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from studio.api.error_answers import ErrorBody
from studio.api.requests.chat_request import ChatRequest, MetadataChange
from studio.api.requests.embeddings import EmbeddingsRequest
from studio.api.requests.request import RequestBody
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.requests.resumed_request import Resumption
from studio.api.stored.lists import MAX_LIMIT, StoredList
from studio.api.stored.sessions import SessionPage


class ApiApp(FastAPI):
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
        schemas.update(_schemas_of_bodies())
        return document


_BODIES: tuple[type[RequestBody], ...] = (
    ChatRequest,
    ResponsesRequest,
    EmbeddingsRequest,
    MetadataChange,
    Resumption,
)


def _schemas_of_bodies() -> dict[str, dict[str, Any]]:
    _, schemas = models_json_schema(
        [(body, "validation") for body in _BODIES], ref_template="#/components/schemas/{model}"
    )
    definitions: dict[str, dict[str, Any]] = schemas["$defs"]
    return definitions


_OF_ADDRESSES = ("order", "starting_after", "response_id", "completion_id", "session_id")
"""Parameters that stand in addresses, beside those of a page of sessions."""


@cache
def parameter_names() -> frozenset[str]:
    """The names of all parameters of all bodies, and of their parts."""
    fields = (name for schema in _schemas_of_bodies().values() for name in schema.get("properties", ()))
    rows = (name for body in _BODIES for name in body.refused)
    return frozenset((*fields, *rows, *SessionPage.model_fields, *_OF_ADDRESSES))


def answering(
    name: str, body: type[RequestBody], answer: type[BaseModel], *, streams: bool = True
) -> dict[str, Any]:
    """The description of an endpoint that answers a body, whole or as a stream as well."""
    described = returning(name, answer, statuses=(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 502, 503))
    if streams:
        described["responses"][200] = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    content = {"application/json": {"schema": schema}}
    return {**described, "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def resuming(name: str, body: type[RequestBody], answer: type[BaseModel]) -> dict[str, Any]:
    """The description of an endpoint that goes on with what is there, with a body or without one."""
    described = returning(name, answer, statuses=(400, 401, 403, 404, 409, 413, 415, 429, 503))
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}}
    return {**described, "openapi_extra": {"requestBody": {"required": False, "content": content}}}


def returning(
    name: str, answer: type[BaseModel] | None, *, statuses: tuple[int, ...] = (400, 401, 403, 404, 429, 503)
) -> dict[str, Any]:
    """The description of an endpoint that returns what is there."""
    errors = {status: {"model": ErrorBody, "description": "Why there is no answer."} for status in statuses}
    return {"operation_id": name, "response_model": answer, "responses": errors}


def sending(name: str, media_type: str) -> dict[str, Any]:
    """The description of an endpoint that sends a file."""
    described = returning(name, None)
    described["responses"][200] = {"content": {media_type: {"schema": {"type": "string"}}}}
    return {**described, "response_class": Response}


def listing(name: str, *, filters: bool = False) -> dict[str, Any]:
    """The description of an endpoint that returns a page of a list."""
    schemas: dict[str, Any] = {
        "after": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
        "order": {"enum": ["asc", "desc"]},
        **({"model": {"type": "string"}} if filters else {}),
    }
    parameters = [{"name": each, "in": "query", "schema": schema} for each, schema in schemas.items()]
    return {**returning(name, StoredList), "openapi_extra": {"parameters": parameters}}
