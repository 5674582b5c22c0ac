"""An endpoint's list of models, as `GET /models` gives it.

Knows the JSON only.
"""

from __future__ import annotations

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from conductor.messages import Value


class ServedModel(Value):
    """A model that an endpoint serves; its context is in tokens, None where that is not said."""

    name: str
    owner: str | None = None
    context: int | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    owned_by: str | None = None
    context: int | None = Field(
        default=None, validation_alias=AliasChoices("max_model_len", "context_length", "context_window")
    )


class _List(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    data: list[_Entry]


_CATALOGUE: TypeAdapter[_List | list[_Entry]] = TypeAdapter(_List | list[_Entry])


def read_catalogue(body: bytes) -> tuple[ServedModel, ...]:
    """The models of the list; some servers leave its frame out. Raises `ValueError` where it is no list."""
    try:
        listed = _CATALOGUE.validate_json(body)
    except ValidationError:
        raise ValueError("its list of models cannot be read") from None
    entries = listed.data if isinstance(listed, _List) else listed
    return tuple(ServedModel(name=entry.id, owner=entry.owned_by, context=entry.context) for entry in entries)
