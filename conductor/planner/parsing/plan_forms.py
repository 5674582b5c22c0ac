"""The forms in which models write the three lists: labelled in running text, as JSON objects, in quotes.

Knows labels, keys and their variants, and what is loose about them; reads no list and judges nothing.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from conductor.planner.parsing.literals import Listing, Literal, Table, Text
from conductor.planner.parsing.quotes import DOUBLE, QUOTES
from conductor.planner.parsing.repairs import repair
from conductor.workflow.plan_report import Repair, Span

ListName = typing.Literal["model_id", "subtasks", "access_list"]

LIST_NAMES: tuple[ListName, ...] = ("model_id", "subtasks", "access_list")

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
    """What is loose about a label."""
    name, around = name_of(mark), mark["open"] + mark["shut"] + mark["mid"]
    label = mark.span("name")
    if mark["bullet"]:
        yield repair("bullet", f"the bullet before {name} was ignored", mark.span("bullet"))
    if "*" in around or "_" in around:
        yield repair("bold-label", f"the Markdown around {name} was ignored", mark.span("open"))
    if "`" in mark[0].replace("```", ""):
        yield repair("backtick", f"the backticks around {name} were ignored", mark.span())
    if mark["name"] != name:
        yield repair("label-variant", f"{mark['name']!r} was read as {name}", label)
    if mark["sign"] == ":":
        yield repair("colon-label", f"the colon after {name} was read as =", mark.span("sign"))


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

    `reasoning` is the text under that key, "" where there is none.
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
