"""The forms in which models write the three lists: labelled in running text, as JSON objects, in quotes.

Knows labels, keys and their variants, and what is loose about them; reads no list and judges nothing.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from conductor.planner.parsing.literals import Listing, Literal, ObjectLiteral, Text, repair
from conductor.planner.parsing.quotes import DOUBLE, QUOTES
from conductor.workflow.plan_report import Repair, Span

ListName = typing.Literal["model_id", "subtasks", "access_list"]

LIST_NAMES: tuple[ListName, ...] = ("model_id", "subtasks", "access_list")


@dataclass(frozen=True, slots=True)
class Column:
    """One of a plan's lists: an entry a step (None for a step without one), or why it cannot be read."""

    entries: tuple[Literal | None, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One complete plan as it is written. `by_step`: as one object a step, not as three lists.

    `tools` is the list that a plan may have
    beside the three, None without it. `keys` are those of each object, `reasoning` is the text under that key
    of the plan's own object.
    """

    span: Span
    columns: Mapping[ListName, Column]
    repairs: tuple[Repair, ...] = ()
    tools: Column | None = None
    by_step: bool = False
    reasoning: str = ""
    keys: Sequence[Sequence[str]] = ()


# -- labels in running text ------------------------------------------------------------------------


def _mark(opens: str, sign: str) -> re.Pattern[str]:
    return re.compile(_MARK.replace("OPENS", opens).replace("SIGN", sign), re.I | re.M | re.X)


_MARK = r"""
    OPENS
    | (?P<line>^[ \t]* (?P<bullet>(?:[-*+•‣◦–]|[0-9]{1,3}[.)])[ \t]+)? )?
      (?<!\w) (?P<open>[*_`"'“‘]{0,3})
      (?P<name>(?P<model_id>model[ _-]{0,2}ids?) | (?P<subtasks>sub[ _-]{0,2}tasks?)
               | (?P<access_list>access(?:[ _-]{0,2}lists?)?))
      (?P<shut>[*_`"'”’]{0,3}) [ \t]* (?P<sign>SIGN) (?P<mid>[*_`]{0,3})
      (?: \s* (?:`{3,}\w*\s*|`{1,2})? (?P<list>\[) )?
"""
"""A brace that may open an object, or a label; `list` is the bracket of the list after it, if any."""
_OBJECT = r"\{ (?=\s*(?:[\"'“‘]|\w+\s*:))"
MARK = _mark(_OBJECT, "[=:]")
TOOLS_MARK = re.compile(
    r"^[ \t]*[*_`\"']{0,3}tools?(?:[ _-]?lists?)?[*_`\"']{0,3}[ \t]*[=:][ \t]*(?=\[)", re.I | re.M
)
"""The label of the list of tools: too common a word to be one anywhere but beside the other lists."""
_SIGNS = (
    r":=|={2,3}|[=-]>|[→⇒]|:[ \t]*[a-z][\w\[\], .|]{0,40}= | [=:|>] | (?=[\[`] | \r?\n\s*(?:`{1,3}\s*)?\[)"
)
LOOSE_MARK = _mark(rf"{_OBJECT} | \[ (?=\s*\{{)", _SIGNS)
"""The same with a list of objects, labels in a table, a tag or a heading, and Python's types of variables."""


def name_of(mark: re.Match[str]) -> ListName:
    return next(name for name in LIST_NAMES if mark[name])


def label_repairs(mark: re.Match[str], text: str) -> Iterator[Repair]:
    """What is loose about a label of `text`."""
    written, sign = text[slice(*mark.span("name"))], text[slice(*mark.span("sign"))]
    name, around = name_of(mark), mark["open"] + mark["shut"] + mark["mid"]
    if mark["bullet"]:
        yield repair("bullet", f"the bullet before {name} was ignored", mark.span("bullet"))
    if "*" in around or "_" in around:
        yield repair("bold-label", f"the Markdown around {name} was ignored", mark.span("open"))
    if "`" in mark[0].replace("```", ""):
        yield repair("backtick", f"the backticks around {name} were ignored", mark.span())
    if written != name:
        yield repair("label-variant", f"{written!r} was read as {name}", mark.span("name"))
    if mark["sign"] == ":":
        yield repair("colon-label", f"the colon after {name} was read as =", mark.span("sign"))
    elif sign != "=":
        yield repair("other-marks", f"{sign!r} after {name} was read as =", mark.span("sign"))


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

_TOOLS_KEYS = frozenset(("tool", "tools", "tool list"))

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_Fields = Mapping[str, tuple[str, Literal]]
"""Each key as written and its value, by the key's spelling."""


def steps_plan(steps: Listing) -> Draft | None:
    """The plan that a list of objects is without an object around it; None when it is none."""
    plan = object_plan(ObjectLiteral((("steps", steps),), steps.span))
    columns = plan.columns if plan else {}
    if plan is None or not all(column.entries and None not in column.entries for column in columns.values()):
        return None
    listed = repair("label-variant", "a list of objects was read as the key steps", steps.span)
    return replace(plan, repairs=(*plan.repairs, listed))


def object_plan(table: ObjectLiteral, *, goes_on: bool = False) -> Draft | None:
    """The plan that an object is, with the repairs of its form; None when it is none.

    Of one that `goes_on`, lists may be missing, or all of them.
    """
    rows: Sequence[_Fields] = ()
    tools: Column | None = None
    fields = _fields(table)
    steps, reasoning = (_value(fields, {key}) for key in ("steps", "reasoning"))
    named = {name: field for name in LIST_NAMES if (field := _field(fields, _KEYS[name]))}
    if goes_on and steps is None:
        named = {name: named.get(name, (name, Listing((), table.span))) for name in LIST_NAMES}
    if isinstance(steps, Listing) and all(isinstance(step, ObjectLiteral) for step in steps.items):
        rows = [_fields(step) for step in steps.items if isinstance(step, ObjectLiteral)]
        columns = {name: Column(tuple(_value(row, _STEP_KEYS[name]) for row in rows)) for name in LIST_NAMES}
        if any(not _TOOLS_KEYS.isdisjoint(row) for row in rows):
            tools = Column(tuple(_value(row, _TOOLS_KEYS) for row in rows))
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
        if (listed := _value(fields, _TOOLS_KEYS)) is not None:
            tools = _column(listed)
        by_step = False
    else:
        return None
    text = reasoning.value.strip() if isinstance(reasoning, Text) else ""
    keys = [[written for written, _ in row.values()] for row in rows]
    return Draft(table.span, columns, tuple(repairs), tools, by_step, text, keys)


def _column(value: Literal) -> Column:
    return Column(value.items) if isinstance(value, Listing) else Column(fault="it is not a list")


def _fields(table: ObjectLiteral) -> _Fields:
    """The fields by the words of their keys: of modelId, model\\_id and Model-ID as of model_id."""
    words = str.maketrans("_-\u2011", "   ", "\\\u200b\ufeff")
    return {
        _CAMEL.sub(" ", key.strip()).casefold().translate(words): (key, value) for key, value in table.fields
    }


def _field(fields: _Fields, keys: Collection[str]) -> tuple[str, Literal] | None:
    return next((fields[key] for key in fields if key in keys), None)


def _value(fields: _Fields, keys: Collection[str]) -> Literal | None:
    field = _field(fields, keys)
    return field[1] if field else None


# -- quotes around a plan --------------------------------------------------------------------------

_DISTANCE = 200
"""How far a quote may be from the plan that it wraps."""

# A quote that touches a word belongs to that word.
_BEFORE = re.compile(rf"(?:(?<=[\s:(`])|\A)[{QUOTES}]{{1,3}}\s*\Z")
_AFTER = re.compile(rf"\s*(?P<quote>[{QUOTES}]{{1,3}})(?=[\s`.)]|\Z)")
# Of a label in quotes, the quote closes before the sign.
_LABEL = re.compile(rf"\s*[{QUOTES}]{{1,3}}[^{QUOTES}=:]*[=:]")


def with_quotes(text: str, span: Span) -> Span | None:
    """The plan's `span` with the quotes around it, None without them."""
    start, end = span
    after = _AFTER.match(text, end, end + _DISTANCE)
    before = _BEFORE.search(text, max(0, start - _DISTANCE), start) or _LABEL.match(text, start)
    if after is None or before is None:
        return None
    opening = before[0].strip()[0]
    if (opening in DOUBLE) != (after["quote"][0] in DOUBLE):
        return None
    return min(start, before.start()), after.end()
