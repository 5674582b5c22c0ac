"""The forms in which models write the three lists: labelled in running text, as JSON objects, in quotes.

Knows labels, keys and their variants, and what is loose about them; reads no list and judges nothing.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from conductor.planner.parsing.literals import Listing, Literal, Table, Text, repair
from conductor.planner.parsing.quotes import DOUBLE, QUOTES
from conductor.workflow.plan_report import Repair, Span

ListName = typing.Literal["model_id", "subtasks", "access_list"]

LIST_NAMES: tuple[ListName, ...] = ("model_id", "subtasks", "access_list")


@dataclass(frozen=True, slots=True)
class Column:
    """One of a plan's lists: an entry a step (None where a step has none), or why it cannot be read."""

    entries: tuple[Literal | None, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One complete plan as it is written. `by_step`: as one object a step, not as three lists.

    `reasoning` is the text under that key of the plan's own object.
    """

    span: Span
    columns: Mapping[ListName, Column]
    repairs: tuple[Repair, ...] = ()
    by_step: bool = False
    reasoning: str = ""


# -- labels in running text ------------------------------------------------------------------------

MARK = re.compile(
    r"""
    \{ (?=\s*+(?:["'“‘]|\w++\s*+:))
    | (?P<line>^[ \t]*+ (?P<bullet>(?:[-*+•‣◦–]|[0-9]{1,3}[.)])[ \t]++)?+ )?+
      (?<!\w) (?P<open>[*_`"'“‘]{0,3}+)
      (?P<name>(?P<model_id>model[ _-]?ids?) | (?P<subtasks>sub[ _-]?tasks?)
               | (?P<access_list>access(?:[ _-]?lists?)?))
      (?P<shut>[*_`"'”’]{0,3}+) [ \t]*+ (?P<sign>[=:]) (?P<mid>[*_`]{0,3}+)
      (?: \s*+ (?:`{3,}+\w*+\s*+|`{1,2})?+ (?P<list>\[) )?
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A brace that may open an object, or a label; `list` is the bracket of the list after it, if any."""


def name_of(mark: re.Match[str]) -> ListName:
    return next(name for name in LIST_NAMES if mark[name])


def label_repairs(mark: re.Match[str]) -> Iterator[Repair]:
    name, around = name_of(mark), mark["open"] + mark["shut"] + mark["mid"]
    if mark["bullet"]:
        yield repair("bullet", f"the bullet before {name} was ignored", mark.span("bullet"))
    if "*" in around or "_" in around:
        yield repair("bold-label", f"the Markdown around {name} was ignored", mark.span("open"))
    if "`" in mark[0].replace("```", ""):
        yield repair("backtick", f"the backticks around {name} were ignored", mark.span())
    if mark["name"] != name:
        yield repair("label-variant", f"{mark['name']!r} was read as {name}", mark.span("name"))
    if mark["sign"] == ":":
        yield repair("colon-label", f"the colon after {name} was read as =", mark.span("sign"))


# -- objects ---------------------------------------------------------------------------------------

_KEYS: Mapping[ListName, frozenset[str]] = {
    "model_id": frozenset(("model id", "model ids")),
    "subtasks": frozenset(("subtask", "subtasks")),
    "access_list": frozenset(("access", "access list", "access lists")),
}
_STEP_KEYS: Mapping[ListName, frozenset[str]] = {
    "model_id": frozenset(("agent", "model", "model id", "assigned agent")),
    "subtasks": frozenset(("instruction", "subtask")),
    "access_list": frozenset(("access", "access list")),
}

_Fields = Mapping[str, tuple[str, Literal]]
"""Each key as written and its value, by the key's spelling."""


def object_plan(table: Table) -> Draft | None:
    """The plan that an object is, with the repairs of its form; None when it is none."""
    fields = _fields(table)
    steps, reasoning = (_value(fields, {key}) for key in ("steps", "reasoning"))
    named = {name: found for name in LIST_NAMES if (found := _field(fields, _KEYS[name]))}
    if isinstance(steps, Listing) and all(isinstance(step, Table) for step in steps.items):
        rows = [_fields(step) for step in steps.items if isinstance(step, Table)]
        columns = {name: Column(tuple(_value(row, _STEP_KEYS[name]) for row in rows)) for name in LIST_NAMES}
        detail = "the steps of a JSON object were read as the three lists"
        repairs = [repair("json-steps", detail, table.span)]
        by_step = True
    elif len(named) == len(LIST_NAMES) and isinstance(named["subtasks"][1], Listing):
        columns = {name: _column(value) for name, (_, value) in named.items()}
        detail = "the keys of a JSON object were read as the three lists"
        repairs = [repair("json-object", detail, table.span)]
        repairs += [
            repair("label-variant", f"the key {key!r} was read as {name}", value.span)
            for name, (key, value) in named.items()
            if key != name
        ]
        by_step = False
    else:
        return None
    text = reasoning.value.strip() if isinstance(reasoning, Text) else ""
    return Draft(table.span, columns, tuple(repairs), by_step, text)


def _column(value: Literal) -> Column:
    return Column(value.items) if isinstance(value, Listing) else Column(fault="it is not a list")


def _fields(table: Table) -> _Fields:
    spelling = str.maketrans("_-", "  ")
    return {key.strip().casefold().translate(spelling): (key, value) for key, value in table.fields}


def _field(fields: _Fields, keys: Collection[str]) -> tuple[str, Literal] | None:
    return next((fields[key] for key in fields if key in keys), None)


def _value(fields: _Fields, keys: Collection[str]) -> Literal | None:
    found = _field(fields, keys)
    return found[1] if found else None


# -- quotes around a plan --------------------------------------------------------------------------

_DISTANCE = 200
"""How far a quote may be from the plan that it wraps."""

# A quote that touches a word belongs to that word.
_BEFORE = re.compile(rf"(?:(?<=[\s:(`])|\A)[{QUOTES}]{{1,3}}\s*\Z")
_AFTER = re.compile(rf"\s*+(?P<quote>[{QUOTES}]{{1,3}})(?=[\s`.)]|\Z)")
# Of a label in quotes, the quote closes before the sign.
_LABEL = re.compile(rf"\s*+[{QUOTES}]{{1,3}}[^{QUOTES}=:]*+[=:]")


def with_quotes(text: str, span: Span) -> Span | None:
    """The plan's `span` with the quotes around it, None where there are none."""
    start, end = span
    after = _AFTER.match(text, end, end + _DISTANCE)
    before = _BEFORE.search(text, max(0, start - _DISTANCE), start) or _LABEL.match(text, start)
    if after is None or before is None:
        return None
    opening = before[0].strip()[0]
    if (opening in DOUBLE) != (after["quote"][0] in DOUBLE):
        return None
    return min(start, before.start()), after.end()
