"""The API's own OpenAPI document, made of the models that requests are read with."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema

from conductor.api.schemas_chat import ChatRequest
from conductor.api.schemas_responses import ResponsesRequest

Shape = dict[str, Any]

_TEXT: Shape = {"type": "string"}
_OBJECT: Shape = {"type": "object"}
_ERROR: Shape = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_ENTRY: Shape = {
    "type": "object",
    "required": ["id", "object", "created", "owned_by"],
    "properties": {
        "id": _TEXT,
        "object": {"const": "model"},
        "created": {"type": "integer"},
        "owned_by": _TEXT,
    },
}
_DELETED: Shape = {
    "type": "object",
    "required": ["id", "object", "deleted"],
    "properties": {"id": _TEXT, "object": {"const": "response"}, "deleted": {"const": True}},
}


@cache
def document() -> Shape:
    """The document, of OpenAPI 3.1."""
    _, schemas = models_json_schema(
        [(ChatRequest, "validation"), (ResponsesRequest, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Conductor Studio",
            "version": "1",
            "description": "An orchestra of models behind one name, in the words of OpenAI's API.",
        },
        "servers": [{"url": "/v1"}],
        "security": [{}, {"token": []}],
        "paths": {
            "/chat/completions": {"post": _asking("createChatCompletion", "ChatRequest", "chat.completion")},
            "/responses": {"post": _asking("createResponse", "ResponsesRequest", "response")},
            "/responses/{id}": {
                "get": _getting("getResponse", _answer("response"), parameters=[_RESPONSE_ID]),
                "delete": _getting("deleteResponse", _DELETED, parameters=[_RESPONSE_ID]),
            },
            "/models": {"get": _getting("listModels", _models(), parameters=[])},
            "/models/{id}": {"get": _getting("retrieveModel", _ENTRY, parameters=[_ID])},
        },
        "components": {
            "schemas": {**schemas["$defs"], "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


_ID: Shape = {
    "name": "id",
    "in": "path",
    "required": True,
    # No path with a line break reaches a route.
    "schema": {"type": "string", "pattern": r"^[^\r\n]+$"},
}

_RESPONSE_ID: Shape = {**_ID, "schema": {"type": "string", "pattern": r"^[^/\r\n]+$"}}


def _models() -> Shape:
    return {
        "type": "object",
        "required": ["object", "data"],
        "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": _ENTRY}},
    }


def _asking(name: str, schema: str, kind: str) -> Shape:
    content = {"application/json": {"schema": _answer(kind)}, "text/event-stream": {"schema": _TEXT}}
    return {
        "operationId": name,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
        },
        "responses": {
            "200": {"description": "The answer, whole or as a stream.", "content": content},
            **_errors("400", "401", "403", "404", "408", "409", "413", "415", "429", "500", "502", "503"),
        },
    }


def _answer(kind: str) -> Shape:
    return {
        "type": "object",
        "required": ["id", "object", "model", "usage", "conductor"],
        "properties": {"id": _TEXT, "object": {"const": kind}, "model": _TEXT, "conductor": _OBJECT},
    }


def _getting(name: str, answer: Shape, *, parameters: list[Shape]) -> Shape:
    return {
        "operationId": name,
        "parameters": parameters,
        "responses": {
            "200": {"description": "What there is.", "content": {"application/json": {"schema": answer}}},
            **_errors("400", "401", "403", "404", "429", "503"),
        },
    }


def _errors(*statuses: str) -> Shape:
    schema = {"$ref": "#/components/schemas/Error"}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "Why there is no answer.", "content": content} for status in statuses}
