"""Plans written as JSON objects: three lists under their names, or one object a step.

Knows keys and their variants; judges nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from conductor.plan import Repair
from conductor.planner.labels import LIST_NAMES, ListName
from conductor.planner.literals import Listing, Literal, Table, Text
from conductor.planner.repairs import repair

_SPELLINGS: Mapping[ListName, frozenset[str]] = {
    "model_id": frozenset(("model id", "model ids")),
    "subtasks": frozenset(("subtask", "subtasks")),
    "access_list": frozenset(("access", "access list", "access lists")),
}
_STEP_KEYS: Mapping[ListName, frozenset[str]] = {
    "model_id": frozenset(("agent", "model", "model id", "assigned agent")),
    "subtasks": frozenset(("instruction", "subtask")),
    "access_list": frozenset(("access", "access list")),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One of a plan's lists: an entry a step (None where a step has none), or why it cannot be read."""

    entries: tuple[Literal | None, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """The columns of an object that is a plan. `by_step`: as one object a step, not as three lists.

    `reasoning` is what stands under that key, "" where there is none.
    """

    columns: Mapping[ListName, Column]
    repairs: tuple[Repair, ...]
    by_step: bool
    reasoning: str = ""


_Field = tuple[str, Literal]
"""A key as written, and its value."""


def object_plan(table: Table) -> ObjectPlan | None:
    """The plan that an object is, None when it is none."""
    fields = {_spelling(key): (key, value) for key, value in table.fields}
    steps = fields.get("steps", ("", None))[1]
    said = fields.get("reasoning", ("", None))[1]
    reasoning = said.value.strip() if isinstance(said, Text) else ""
    if isinstance(steps, Listing) and all(isinstance(step, Table) for step in steps.items):
        detail = "the steps of a JSON object were read as the three lists"
        return ObjectPlan(
            _step_columns(steps.items),
            (repair("json-steps", detail, table.span),),
            by_step=True,
            reasoning=reasoning,
        )
    named = {name: found for name in LIST_NAMES if (found := _first(fields, _SPELLINGS[name]))}
    if len(named) < len(LIST_NAMES) or not isinstance(named["subtasks"][1], Listing):
        return None
    repairs = [repair("json-object", "the keys of a JSON object were read as the three lists", table.span)]
    repairs += [
        repair("label-variant", f"the key {key!r} was read as {name}", value.span)
        for name, (key, value) in named.items()
        if key != name
    ]
    columns = {name: _column(value) for name, (_, value) in named.items()}
    return ObjectPlan(columns, tuple(repairs), by_step=False, reasoning=reasoning)


def _step_columns(steps: Iterable[Literal]) -> Mapping[ListName, Column]:
    """One column for each list from objects, one a step."""
    rows = [
        {_spelling(key): (key, value) for key, value in step.fields}
        for step in steps
        if isinstance(step, Table)
    ]

    def entry(row: Mapping[str, _Field], name: ListName) -> Literal | None:
        found = _first(row, _STEP_KEYS[name])
        return found[1] if found else None

    return {name: Column(tuple(entry(row, name) for row in rows)) for name in LIST_NAMES}


def _column(value: Literal) -> Column:
    return Column(value.items) if isinstance(value, Listing) else Column((), "it is not a list")


def _first(fields: Mapping[str, _Field], keys: Collection[str]) -> _Field | None:
    return next((fields[key] for key in fields if key in keys), None)


def _spelling(key: str) -> str:
    """A key without the differences that do not matter."""
    return key.strip().casefold().replace("_", " ").replace("-", " ")
