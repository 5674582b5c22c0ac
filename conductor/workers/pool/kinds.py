"""The kinds of workers and planners by name, the table of an entry, and what is wrong with one.

Knows neither the file nor its lines. A fault never repeats a value: it may be a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from conductor.errors import PoolError
from conductor.plugins import Registry
from conductor.workers.pool.schema import (
    CalculatorTable,
    ConductorTable,
    EmbeddedConductorTable,
    EmbeddedEmbeddingsTable,
    EmbeddedTable,
    EmbeddingsTable,
    LocalConductorTable,
    ModelTable,
    PythonTable,
    SimulatedTable,
)
from conductor.workers.pool.table import PlannerTable, PoolTable, WorkerTable, subclass_fault

_AnyTable = TypeVar("_AnyTable", bound=type[PoolTable])

EmbeddingsEntry = EmbeddingsTable | EmbeddedEmbeddingsTable

ConductorEntry = ConductorTable | LocalConductorTable | EmbeddedConductorTable | PlannerTable

PLANNERS: Registry[type[LocalConductorTable | EmbeddedConductorTable | PlannerTable]] = Registry(
    "conductor.planners",
    {"local": LocalConductorTable, "embedded": EmbeddedConductorTable},
    check=partial(subclass_fault, PlannerTable),
    error=PoolError,
)
"""The tables of `[conductor]` by their kind; the table of a served Conductor has none."""

WORKERS: Registry[type[WorkerTable]] = Registry(
    "conductor.workers",
    {
        "model": ModelTable,
        "embedded": EmbeddedTable,
        "calculator": CalculatorTable,
        "python": PythonTable,
        "simulated": SimulatedTable,
    },
    check=partial(subclass_fault, WorkerTable),
    error=PoolError,
)
"""The tables of `[[worker]]` by their kind."""

_INSTALLED = "or the kind of an installed package, which `conductor plugins` lists"
_WORKER_KINDS = (
    'needs kind = "embedded", kind = "calculator", kind = "python" or kind = "simulated", a base_url where a '
    "model is served, " + _INSTALLED
)
_CONDUCTOR_KINDS = (
    'needs kind = "local" or kind = "embedded", a base_url and no kind where a model is served, ' + _INSTALLED
)


def conductor_table(entry: object) -> ConductorEntry:
    """A `[conductor]` table; one of a served model has no kind. Raises `ValidationError`."""
    if isinstance(entry, dict) and isinstance(entry.get("kind"), str):
        return _of_kind(PLANNERS, entry, _CONDUCTOR_KINDS).model_validate(entry)
    return ConductorTable.model_validate(entry)


def embeddings_table(entry: object) -> EmbeddingsEntry:
    """An `[embeddings]` table; one of an endpoint has no kind. Raises `ValidationError`."""
    embedded = isinstance(entry, dict) and "kind" in entry
    return (EmbeddedEmbeddingsTable if embedded else EmbeddingsTable).model_validate(entry)


def worker_table(entry: object) -> WorkerTable:
    """A `[[worker]]` table; with a base_url, also a misspelt one, the kind may be left out. Raises
    `ValidationError`.
    """
    if not isinstance(entry, dict):
        return ModelTable.model_validate(entry)
    if "kind" not in entry and any(
        _OTHERS.get(key) == "base_url" or get_close_matches(key, ["base_url"]) for key in entry
    ):
        entry = {"kind": "model", **entry}
    return _of_kind(WORKERS, entry, _WORKER_KINDS).model_validate(entry)


def _of_kind(registry: Registry[_AnyTable], entry: Mapping[str, Any], kinds: str) -> _AnyTable:
    """The table of the entry's kind. Raises `ValidationError` if there is none, or it is a faulty plug-in."""
    kind, reason = entry.get("kind"), kinds
    try:
        if isinstance(kind, str) and (table := registry.find(kind)) is not None:
            return table
    except PoolError as error:
        reason = str(error).removesuffix(".")
    details = PydanticCustomError("kind", "{reason}", {"reason": reason})
    raise ValidationError.from_exception_data(
        "table", [InitErrorDetails(type=details, loc=("kind",), input=None)], hide_input=True
    )


def _tables(table: type[PoolTable]) -> Iterator[type[PoolTable]]:
    """All kinds of it, those of other packages, too."""
    for kind in table.__subclasses__():
        yield kind
        yield from _tables(kind)


# -- what is wrong with a table, in words for the person who wrote it ---------------------------------

_NO_TABLE = ("dict_type", "model_type", "model_attributes_type")
_SECRET = re.compile(r"key|token$|secret", re.IGNORECASE)


CONDUCTOR_KINDS = ("conductor", "local", "embedded conductor")
"""How `table_faults` calls the tables that plan."""


class Fault(NamedTuple):
    """A key, and what is wrong with its value."""

    key: str
    message: str


def table_faults(kind: str, entry: Mapping[str, Any]) -> tuple[Fault, ...]:
    """The faults of a table of a kind of workers, or one of `CONDUCTOR_KINDS`, or none if it is valid."""
    try:
        if kind in CONDUCTOR_KINDS:
            conductor_table(entry)
        else:
            worker_table({"kind": kind, **entry})
    except ValidationError as error:
        return faults(error, entry)
    return ()


def faults(error: ValidationError, entry: object) -> tuple[Fault, ...]:
    """The first fault of each key."""
    by_key: dict[str, Fault] = {}
    kinds: dict[str, list[str]] = {"missing": [], "extra_forbidden": []}
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        path = detail["loc"]
        key = str(path[0]) if path else "kind"
        by_key.setdefault(key, Fault(key, _message(error, detail, key, entry)))
        if len(path) == 1:
            kinds.setdefault(detail["type"], []).append(key)
    for key in kinds["extra_forbidden"]:
        other = [_OTHERS[key]] if _OTHERS.get(key) in kinds["missing"] else []
        for missing_key in other or get_close_matches(key, kinds["missing"], n=1):
            # One mistake, reported where it was made.
            by_key[key] = Fault(key, f"unknown key; write {missing_key}.")
            by_key.pop(missing_key, None)
    return tuple(by_key.values())


_OTHERS = {
    "url": "base_url", "api_base": "base_url", "endpoint": "base_url",
    "model_name": "model", "model_id": "model", "timeout": "total_seconds", "max_output_tokens": "max_tokens",
    "price_in": "price_prompt", "price_input": "price_prompt",
    "price_out": "price_completion", "price_output": "price_completion",
}  # fmt: skip
"""Keys that other programs have for the same."""


def _message(error: ValidationError, detail: ErrorDetails, key: str, entry: object) -> str:
    if detail["type"] == "extra_forbidden":
        return f"unknown key.{_instead(error, key, entry)}"
    if detail["type"] in _NO_TABLE:
        return "write a table, with its keys and values in { }."
    return f"{detail['msg'].removeprefix('Value error, ')}."


def _instead(error: ValidationError, key: str, entry: object) -> str:
    if _SECRET.search(key):
        return " Keys do not belong into this file; name the variable that holds it in api_key_env."
    names = next((table.model_fields for table in _tables(PoolTable) if table.__name__ == error.title), {})
    near = [_OTHERS[key]] if _OTHERS.get(key) in names else get_close_matches(key, names, n=1, cutoff=0.7)
    advice = f" Did you mean {near[0]}?" if near else ""
    if isinstance(entry, dict) and "base_url" in entry:
        advice += f" A parameter of the endpoint's own goes into extra = {{ {key} = ... }}."
    return advice
