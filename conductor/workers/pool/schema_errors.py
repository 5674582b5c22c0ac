"""What is wrong with a table of a pool file, key by key, in words for the person who wrote it.

Knows pydantic's errors and the tables' keys; knows no lines. A value is never repeated: it may be a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from conductor.workers.offline.experts import EXPERTS
from conductor.workers.pool.schema import ConductorTable, worker_table

_NO_TABLE = ("dict_type", "model_type", "model_attributes_type")
_SECRET = re.compile(r"key|token$|secret", re.IGNORECASE)


class Fault(NamedTuple):
    """A key, and what is wrong with its value."""

    key: str
    message: str


def table_faults(kind: str, entry: Mapping[str, Any]) -> tuple[Fault, ...]:
    """The faults of a table of a kind of workers, or of "conductor"; none where it is valid."""
    try:
        if kind == "conductor":
            ConductorTable.model_validate(entry)
        else:
            worker_table({"kind": kind, **entry})
    except ValidationError as error:
        return faults(error, entry, tagged=kind != "conductor")
    return ()


def faults(error: ValidationError, entry: object, *, tagged: bool) -> tuple[Fault, ...]:
    """The first fault of each key. In a `tagged` error the table's kind comes before the key."""
    found: dict[str, Fault] = {}
    kinds: dict[str, list[str]] = {"missing": [], "extra_forbidden": []}
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        path = detail["loc"][1:] if tagged else detail["loc"]
        key = str(path[0]) if path else "kind"
        found.setdefault(key, Fault(key, _message(detail["type"], detail["msg"], key, entry)))
        if len(path) == 1:
            kinds.setdefault(detail["type"], []).append(key)
    for key in kinds["extra_forbidden"]:
        for meant in get_close_matches(key, kinds["missing"], n=1):
            # One mistake, reported where it was made.
            found[key] = Fault(key, f"unknown key; write {meant}.")
            found.pop(meant, None)
    return tuple(found.values())


def _message(kind: str, message: str, key: str, entry: object) -> str:
    if kind.startswith("union_tag"):
        return 'needs kind = "offline" or kind = "simulated", or a base_url where a model is served.'
    if kind == "extra_forbidden":
        return f"unknown key.{_instead(key, entry)}"
    if kind in _NO_TABLE:
        return "write a table, with its keys and values in { }."
    experts = f" Experts: {', '.join(EXPERTS)}." if key == "expert" else ""
    return f"{message.removeprefix('Value error, ')}.{experts}"


def _instead(key: str, entry: object) -> str:
    if _SECRET.search(key):
        return " Keys do not belong into this file; name the variable that holds it in api_key_env."
    if isinstance(entry, dict) and "base_url" in entry:
        return f" A parameter of the endpoint's own goes into extra = {{ {key} = ... }}."
    return ""
