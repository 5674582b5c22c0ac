"""The fields of the form for a table of the pool file, generated from the table's keys, and back to a table.

Pure: reads the keys, types and labels of the tables; draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import tomlkit
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from conductor.text.bounded_value import toml_value
from conductor.workers.keys.services import HOSTED, LOCAL
from conductor.workers.pool.kinds import PLANNERS, WORKERS
from conductor.workers.pool.schema import ConductorTable
from conductor.workers.pool.table import Label
from conductor.workers.pool.toml_editor import Entry

TableKind = Literal[
    "model", "embedded", "calculator", "python", "simulated", "conductor", "local", "embedded conductor"
]
FieldKind = Literal["text", "long", "whole", "number", "choice", "worker", "flag", "several", "table"]


class Field(NamedTuple):
    """The field of a key. `hint` is an example, or what holds where nothing is written."""

    key: str
    label: str
    kind: FieldKind = "text"
    hint: str = ""
    help: str = ""
    options: tuple[str, ...] = ()


SERVICES = (
    *HOSTED,
    *(service._replace(name=f"{service.name}, on this machine") for service in LOCAL.values()),
)

_TABLES: Mapping[str, type[BaseModel]] = {
    **WORKERS.built_in,
    "conductor": ConductorTable,
    "local": PLANNERS.built_in["local"],
    "embedded conductor": PLANNERS.built_in["embedded"],
}

_FIRST: Mapping[TableKind, tuple[str, ...]] = {
    "model": ("name", "model", "base_url", "api_key_env", "strengths", "colour"),
    "conductor": ("name", "model", "base_url", "api_key_env"),
    "local": ("name", "model"),
    "embedded conductor": ("name", "model"),
    "embedded": ("name", "model", "strengths", "colour"),
    "calculator": ("name", "colour"),
    "python": ("name", "colour", "allow_code"),
    "simulated": ("name", "strengths", "answer", "colour"),
}
"""The keys whose fields are always open."""

_SPECIAL: Mapping[str, FieldKind] = {"answer": "long", "fallback": "worker"}
"""Keys whose field does not follow from their type."""

_MISSING = {
    "name": "Enter the name that steps use for this worker.",
    "model": "Enter the model's name at the endpoint, like gpt-5.",
    "base_url": "Enter the URL where the model is served, like https://api.openai.com/v1.",
}
"""What to do about a required key that is not written."""

_MISSING_LOCAL = {
    "model": "Enter orchard, or the folder that `conductor learn` wrote.",
}


@cache
def fields(kind: TableKind) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """The fields that everybody needs, and the others, made from the keys of that kind's table."""
    by_key = {key: _field(key, info) for key, info in _TABLES[kind].model_fields.items() if key != "kind"}
    first = _FIRST[kind]
    return tuple(by_key[key] for key in first), tuple(by_key[key] for key in by_key if key not in first)


def _field(key: str, info: FieldInfo) -> Field:
    label = next(part for part in info.metadata if isinstance(part, Label))
    written = _type(info.annotation)
    several = get_origin(written) is tuple
    written = get_args(written)[0] if several else written
    options = get_args(written) if get_origin(written) is Literal else ()
    kinds: Mapping[Any, FieldKind] = {str: "text", int: "whole", float: "number", bool: "flag"}
    kind = "several" if several else "choice" if options else _SPECIAL.get(key) or kinds.get(written, "table")
    default = info.get_default()
    unset = label.unset
    if not unset and isinstance(default, str | int | float) and not isinstance(default, bool):
        unset = default if isinstance(default, str) else f"{default:,}"
    return Field(key, label.title, kind, unset.removesuffix(".0"), label.help, options)


def _type(annotation: Any) -> Any:
    """The type of a key without None and without its rules."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def kind_of(entry: Entry) -> TableKind:
    """Which kind of worker, or of Conductor in this program, a table describes."""
    kind = entry.get("kind", "model")
    return kind if kind in ("embedded", "calculator", "python", "simulated", "local") else "model"


def other_kind(entry: Entry) -> str | None:
    """The kind of a table that is not built in; None for one that has a form."""
    kind = entry.get("kind")
    return None if kind is None or kind in WORKERS.built_in or kind in PLANNERS.built_in else str(kind)


def first_value(field: Field, entry: Entry) -> Any:
    """What the field of a table shows at first."""
    value = entry.get(field.key)
    match field.kind:
        case "table":
            return tomlkit.dumps(dict(value or {})).strip()
        case "flag":
            return bool(value)
        case "several":
            return list(value or ())
        case "number" if value is not None:
            return float(value)
        case "text" | "long":
            return value or ""
        case _:
            return value


def missing(kind: TableKind, entry: Entry) -> dict[str, str]:
    """What to do about each key that must be written and is not."""
    keys = _TABLES[kind].model_fields
    texts = _MISSING | _MISSING_LOCAL if kind == "local" else _MISSING
    return {key: text for key, text in texts.items() if key in keys and key not in entry}


def entry_of(kind: TableKind, typed: Mapping[str, Any], *, old: Entry) -> tuple[Entry, dict[str, str]]:
    """The table for what was typed, by key, and what of it cannot be read, by key.

    Keys keep the order that they have in `old`; empty values are left out.
    """
    faults: dict[str, str] = {}
    new: dict[str, Any] = {} if kind in ("model", "conductor") else {"kind": kind.split()[0]}
    for field in (*fields(kind)[0], *fields(kind)[1]):
        try:
            value = _value(field, typed.get(field.key))
        except ValueError as error:
            faults[field.key] = str(error)
            continue
        if value is not None and (value is not False or field.key in old):
            new[field.key] = value
    if "kind" in old and kind == "model":
        new["kind"] = kind
    order = [*(key for key in old if key in new), *(key for key in new if key not in old)]
    return {key: new[key] for key in order}, faults


def _value(field: Field, value: Any) -> Any:
    """The value of the key, None for an empty field. Raises `ValueError` with a message for the field."""
    match field.kind:
        case "text":
            return (value or "").strip() or None
        case "long":
            return value or None
        case "number" if value is not None:
            return int(value) if float(value).is_integer() else float(value)
        case "several":
            return list(value or ()) or None
        case "table":
            try:
                return toml_value(value or "") or None
            except ValueError as error:
                raise ValueError(f"write lines like top_k = 40; {error}.") from None
        case _:
            return value
