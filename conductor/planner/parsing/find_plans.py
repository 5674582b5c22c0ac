"""Finds the complete plans in a completion, as columns of literals.

Knows how models wrap the three lists; knows neither workers nor dialects nor what makes a plan valid. Reads
forward only: each stretch of the text is read at most twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from conductor.planner.parsing.literal_reader import LiteralReader, LiteralReading
from conductor.planner.parsing.literals import Listing, Literal, ObjectLiteral, repair
from conductor.planner.parsing.plan_forms import (
    LIST_NAMES,
    LOOSE_MARK,
    MARK,
    TOOLS_MARK,
    Column,
    Draft,
    ListName,
    label_repairs,
    name_of,
    object_plan,
    steps_plan,
    with_quotes,
)
from conductor.planner.parsing.views import View
from conductor.workflow.plan_report import Form, Repair, Span

_FENCE = re.compile(r"`{3,}(?:\w+(?=\s))?")
_TICK = re.compile(r"[ \t]*`{1,2}(?!`)")
_STEPS_OPEN = re.compile(r"\{\s*[\"']?steps[\"']?\s*:\s*\[", re.IGNORECASE)
_PUBLISHED = re.compile("ms+a")
_OTHER_ORDER = re.compile("ma+s|sm+a|sa+m|am+s|as+m")
"""The first letters of the lists' names where three belong together."""
_EXCERPT = 30
"""Characters of what follows a label in place of a list."""
_MOST_KEYS = 8

_FENCE_DISTANCE = 200
"""How far a fence may be from the plan it wraps and still belong to its span."""

_TOOLS_DISTANCE = 200
"""How far behind the last list the bracket of a list of tools may be."""


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A labelled list and where its label starts."""

    name: ListName
    span: Span
    column: Column
    repairs: tuple[Repair, ...]


def find_plans(
    view: View, *, gaps: Sequence[int] = (), form: Form = "lists"
) -> tuple[Sequence[Draft], Sequence[str]]:
    """The complete plans in a view of a text, and why what is there makes none, in the words of `form`.

    `gaps` are ascending places in the completion that no list may contain.
    """
    return _PlanSearch(view, gaps, form).run()


def unreadable(name: ListName, fault: str) -> str:
    return f"The list {name} cannot be read: {fault}. Write it again."


class _PlanSearch:
    """One pass over a text."""

    def __init__(self, view: View, gaps: Sequence[int], form: Form) -> None:
        self._body = body = view.text
        self._loose, self._form = view.loose, form
        self._marks = list((LOOSE_MARK if view.loose else MARK).finditer(view.marks))
        # The keys of the objects that are no plan.
        self._keys: dict[str, None] = {}
        walls = [mark.start() for mark in self._marks if mark["list"] and mark["line"] is not None]
        self._reader = LiteralReader(body, marks=view.marks, walls=walls, gaps=gaps)
        self._fences = [fence.span() for fence in _FENCE.finditer(body)]
        self._quoted = 0
        self._last_quoted = (0, 0)
        self._drafts: list[Draft] = []
        self._lists: list[_Labelled] = []
        # Why the last list of each name cannot be read, "" where it can.
        self._faults: dict[ListName, str] = {}

    def run(self) -> tuple[Sequence[Draft], Sequence[str]]:
        at = objects_from = 0
        for mark in self._marks:
            if mark.start() < at:
                continue
            if mark["list"]:
                at = self._take_list(mark)
            elif mark[0] in "{[" and mark.start() >= objects_from:
                objects_from, is_read = self._take_object(mark.start())
                at = objects_from if is_read else at
        self._group()
        return self._drafts, list(self._incomplete())

    def _incomplete(self) -> Iterator[str]:
        instead = {
            name_of(mark): self._body[mark.end() : mark.end() + _EXCERPT].partition("\n")[0].strip()
            for mark in self._marks
            if mark["name"] and not mark["list"] and name_of(mark) not in self._faults
        }
        if self._form == "json" or not (instead or self._faults):
            yield self._without_plan([*instead, *self._faults])
            return
        for name in LIST_NAMES:
            if name not in self._faults:
                fault = "is missing"
                if name in instead:
                    there = f" ({instead[name]!r} stands there)" if instead[name] else ""
                    fault = f"has a label, but no list follows it{there}"
                yield f"The list {name} {fault}; write {name} = [...] with one entry a step."
            elif self._faults[name]:
                yield unreadable(name, self._faults[name])

    def _without_plan(self, labels: Sequence[str]) -> str:
        lists = "end it with the lists model_id, subtasks and access_list"
        how = {
            "json": "answer with one JSON object that has the key steps",
            "names": f"{lists}, and with workers' names in model_id",
        }.get(self._form, lists)
        keys = ", ".join(repr(key[:_EXCERPT]) for key in [*self._keys][:_MOST_KEYS])
        there = f" It has an object with the keys {keys}." if keys else ""
        there = there or (f" It has the labels {', '.join(labels)}." if labels else "")
        return f"There is no plan in the text; {how}.{there}"

    def _take_list(self, mark: re.Match[str]) -> int:
        """Read the list after a label; the place where reading stopped."""
        name = name_of(mark)
        reading = self._reader.read(mark.start("list"))
        column = Column(_inner(reading.literal) if reading.literal else (), reading.fault)
        repairs = (
            *self._fence_repairs(mark.start("list")),
            *label_repairs(mark, self._body),
            *reading.repairs,
        )
        self._lists.append(_Labelled(name, (mark.start(), reading.span[1]), column, repairs))
        self._faults[name] = reading.fault
        self._quote(reading.span)
        return reading.span[1]

    def _take_object(self, start: int) -> tuple[int, bool]:
        """Read an object; where reading stopped, and whether plans were found in it."""
        reading = self._reader.read(start)
        drafts = list(self._object_drafts(reading))
        if not drafts and reading.fault and _STEPS_OPEN.match(self._body, start):
            columns = dict.fromkeys(LIST_NAMES, Column(fault=reading.fault))
            drafts = [Draft(reading.span, columns, by_step=True)]
        if drafts:
            self._group()
            self._drafts += drafts
        return reading.span[1], bool(drafts)

    def _object_drafts(self, reading: LiteralReading) -> Iterator[Draft]:
        """The plans among an object and the objects inside it."""
        pending: list[Literal] = [reading.literal] if reading.literal else []
        while pending:
            top = pending.pop()
            draft = object_plan(top) if isinstance(top, ObjectLiteral) else None
            if isinstance(top, Listing) and self._loose:
                draft = steps_plan(top)
            if draft is None:
                if isinstance(top, ObjectLiteral):
                    self._keys |= dict.fromkeys(key for key, _ in top.fields)
                pending.extend(reversed(_inner(top)))
                continue
            inside = _within(reading.repairs, top.span)
            repairs = (*self._fence_repairs(top.span[0]), *draft.repairs, *inside)
            span, quoted = self._whole(top.span)
            yield replace(draft, span=span, repairs=(*repairs, *quoted))
            self._quote(top.span)

    def _group(self) -> None:
        """Make plans of the labelled lists found since the last plan."""
        for three in _triples(self._lists):
            whole, tools, loose = self._tools_beside(three)
            span, quoted = self._whole(whole)
            repairs = dict.fromkeys(chain(*(part.repairs for part in three), loose, quoted))
            columns = {part.name: part.column for part in three}
            self._drafts.append(Draft(span, columns, tuple(repairs), tools))
        self._lists = []

    def _tools_beside(self, three: Sequence[_Labelled]) -> tuple[Span, Column | None, tuple[Repair, ...]]:
        """The span of three lists with the list of tools that is among them or right behind them; that list,
        None without one; and its repairs.
        """
        start, end = min(part.span[0] for part in three), max(part.span[1] for part in three)
        for mark in TOOLS_MARK.finditer(self._body, start, end + _TOOLS_DISTANCE):
            if mark.start() >= end and self._body[end : mark.start()].strip():
                break
            if any(part.span[0] <= mark.start() < part.span[1] for part in three):
                continue
            reading = self._reader.read(mark.end())
            column = Column(_inner(reading.literal) if reading.literal else (), reading.fault)
            return (start, max(end, reading.span[1])), column, reading.repairs
        return (start, end), None, ()

    # -- what wraps a plan -------------------------------------------------------------------------

    def _fence_repairs(self, at: int) -> tuple[Repair, ...]:
        """The repair that names the code fence around `at`, a place behind all that was read."""
        before = bisect_left(self._fences, (at, at))
        if (before - self._quoted) % 2 == 0:
            return ()
        first, end = self._last_quoted
        opening = first - 1 if first < before == end else before - 1
        return (repair("code-fence", "the code fence around the plan was ignored", self._fences[opening]),)

    def _quote(self, span: Span) -> None:
        """Backticks inside of what was read as a plan are its text; neighbours are stored as one stretch."""
        first, end = (bisect_left(self._fences, (place, place)) for place in span)
        if first < end:
            self._quoted += end - first
            start, stop = self._last_quoted
            self._last_quoted = (start if start < stop == first else first, end)

    def _whole(self, span: Span) -> tuple[Span, tuple[Repair, ...]]:
        """The span of a plan with what wraps it, and the repair that names quotes around it."""
        quoted = with_quotes(self._body, span)
        if quoted is None:
            return self._with_fences(span), ()
        loose = repair("quoted-plan", "the quotes around the plan were ignored", quoted)
        return self._with_fences(quoted), (loose,)

    def _with_fences(self, span: Span) -> Span:
        """The span with the fence or backtick that wraps it, so that neither is read as reasoning."""
        start, end = span
        tick = _TICK.match(self._body, end)
        if tick:
            end = tick.end()
        before = bisect_left(self._fences, (start, start))
        if before % 2 and self._blank(self._fences[before - 1][1], start):
            start = self._fences[before - 1][0]
        after = bisect_right(self._fences, (end, end))
        if after % 2 and after < len(self._fences) and self._blank(end, self._fences[after][0]):
            end = self._fences[after][1]
        return start, end

    def _blank(self, start: int, end: int) -> bool:
        return end - start <= _FENCE_DISTANCE and not self._body[start:end].strip()


def _within(repairs: Sequence[Repair], span: Span) -> Iterator[Repair]:
    """Those of the repairs, which are in order, that lie in the span."""
    start, end = span
    first = bisect_left(repairs, start, key=lambda loose: loose.span[0])
    last = bisect_right(repairs, end, lo=first, key=lambda loose: loose.span[0])
    return (loose for loose in repairs[first:last] if loose.span[1] <= end)


def _inner(literal: Literal) -> tuple[Literal, ...]:
    match literal:
        case Listing(items=items):
            return items
        case ObjectLiteral(fields=fields):
            return tuple(value for _, value in fields)
        case _:
            return ()


def _triples(lists: Sequence[_Labelled]) -> Iterator[Sequence[_Labelled]]:
    """The labelled lists in threes, one of each name, in the order of the text.

    Neighbours belong together, first those in the published order, and of lists of one name between the two
    others the last. Where no neighbours make a plan, the last list of each name do.
    """
    order = "".join(part.name[0] for part in lists)
    threes, at = list[re.Match[str]](), 0
    for published in [*_PUBLISHED.finditer(order), None]:
        stop = published.start() if published else len(order)
        threes += _OTHER_ORDER.finditer(order, at, stop)
        if published:
            threes.append(published)
            at = published.end()
    for three in threes:
        yield lists[three.start()], lists[three.end() - 2], lists[three.end() - 1]
    newest = {part.name: part for part in lists}
    if not threes and len(newest) == len(LIST_NAMES):
        yield tuple(newest.values())
