"""Reads the plan that a Conductor is still writing: its reasoning and its steps so far.

Takes any beginning of a completion, in time linear in its length, and raises nothing. Of a well-formed plan
it is right at every moment: a longer beginning has the same steps, with more of each. Judges nothing: `parse`
reads the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from conductor.planner.parsing.literal_reader import LiteralReader
from conductor.planner.parsing.literals import Listing, Literal, ObjectLiteral
from conductor.planner.parsing.plan_builder import PlanBuilder, Rules
from conductor.planner.parsing.plan_forms import (
    LIST_NAMES,
    LOOSE_MARK,
    MARK,
    Column,
    Draft,
    ListName,
    name_of,
    object_plan,
)
from conductor.planner.parsing.views import View, views
from conductor.text.thoughts import answer_in_full
from conductor.workflow.model import MAX_WRITTEN_STEPS
from conductor.workflow.plan_report import Dialect


def _beginning(word: str) -> str:
    """A pattern of the word's beginnings, the longest first."""
    return "|".join(word[:end].replace(" ", "[ _-]{0,2}") for end in range(len(word), 0, -1))


_PLAN_BEGINS = re.compile(
    r"(?:(?<=\s)|\A)(?:`{1,3}\w*\s*)?(?:[-*+•]|[0-9]{1,3}[.)])?[ \t]*[\[{*_`\"'“‘\s]{0,6}"
    rf"(?:{_beginning('model ids')}|{_beginning('sub tasks')}|{_beginning('access lists')})?"
    r"[*_`\"'”’]{0,3}[ \t]*[=:]?[*_`\s]*\Z",
    re.IGNORECASE,
)
"""What, at the end of a text, may be the beginning of a plan and no reasoning."""
_LONGEST_BEGINNING = 60


@dataclass(frozen=True, slots=True)
class PartialStep:
    """A step as far as it is written; `worker` and `access` (positions from 0) are None before they are."""

    worker: str | None
    instruction: str
    access: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """`reasoning` is what stands before the plan, and under that key of its object."""

    reasoning: str
    steps: tuple[PartialStep, ...]


def read_partial_plan(text: str, *, workers: Sequence[str], dialect: Dialect = "any") -> PartialPlan:
    """The plan in the beginning `text` of a completion, for `workers` in the order of the prompt.

    Of several plans it is the last one that has as many steps as each before it, so that no step vanishes.
    """
    body = answer_in_full(text, goes_on=True)
    rules = Rules(workers, dialect, MAX_WRITTEN_STEPS, 1, "lists")
    plans = [_PartialSearch(view).plan(replace(rules, loose=view.loose)) for view in islice(views(body), 2)]
    return next((plan for plan in plans if plan.steps), plans[0])


class _PartialSearch:
    """One pass over a view of a text."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._reader = LiteralReader(view.text, marks=view.marks)
        self._drafts: list[Draft] = []
        # The lists of the plan that is read, by name.
        self._lists: dict[ListName, Column] = {}
        self._begins: int | None = None

    def plan(self, rules: Rules) -> PartialPlan:
        at = 0
        for mark in (LOOSE_MARK if self._view.loose else MARK).finditer(self._view.marks):
            if mark.start() >= at and (mark["list"] or mark[0] in "{["):
                at = self._take(mark)
        self._group()
        best = max(reversed(self._drafts), key=_length, default=None)
        before = self._view.text[: self._begins]
        opening = _PLAN_BEGINS.search(before, max(0, len(before) - _LONGEST_BEGINNING))
        prose = before if opening is None else before[: opening.start()]
        reasoning = (prose.strip(), "" if best is None else best.reasoning)
        return PartialPlan(
            "\n\n".join(filter(None, reasoning)), () if best is None else tuple(self._steps(best, rules))
        )

    def _take(self, mark: re.Match[str]) -> int:
        """Read the list or object at a mark; the place where reading stopped."""
        start = mark.start("list") if mark["list"] else mark.start()
        reading = self._reader.read_so_far(start)
        literal = reading.literal
        if mark["list"]:
            name = name_of(mark)
            if name in self._lists:
                self._group()
            self._lists[name] = self._column(name, literal.items if isinstance(literal, Listing) else ())
        else:
            drafts = [] if literal is None else [*_drafts(literal, loose=self._view.loose)]
            drafts = [draft for draft in drafts if reading.fault or _length(draft) or draft.reasoning]
            if not drafts:
                return reading.span[1]
            self._group()
            self._drafts += (
                replace(
                    draft,
                    columns={name: self._column(name, each.entries) for name, each in draft.columns.items()},
                )
                for draft in drafts
            )
        if self._begins is None:
            self._begins = mark.start()
        return reading.span[1]

    def _column(self, name: ListName, entries: Sequence[Literal | None]) -> Column:
        """The entries without the text that is being written, which is shown in an instruction only."""
        return Column(tuple(entries) if name == "subtasks" else tuple(map(self._without_open_text, entries)))

    def _without_open_text(self, entry: Literal | None) -> Literal | None:
        open_text = self._reader.open_text
        if isinstance(entry, Listing):
            return replace(entry, items=tuple(item for item in entry.items if item is not open_text))
        return None if entry is open_text else entry

    def _group(self) -> None:
        """Make a plan of the labelled lists found since the last one."""
        if self._lists:
            columns = {name: self._lists.get(name, Column()) for name in LIST_NAMES}
            self._drafts.append(Draft((0, 0), columns))
        self._lists = {}

    def _steps(self, draft: Draft, rules: Rules) -> Iterator[PartialStep]:
        builder, access = PlanBuilder(draft, rules), draft.columns["access_list"].entries
        for i in range(min(_length(draft), MAX_WRITTEN_STEPS)):
            worker, instruction, reads = builder.so_far(i)
            whole = i < len(access) and self._is_whole(access[i])
            yield PartialStep(worker, instruction, reads if reads or whole else None)

    def _is_whole(self, entry: Literal | None) -> bool:
        """Whether no more of an entry can come: a list is closed."""
        return entry is not None and not (
            isinstance(entry, Listing) and self._view.marks[entry.span[1] - 1] != "]"
        )


def _drafts(literal: Listing | ObjectLiteral, *, loose: bool) -> Iterator[Draft]:
    """The plans that an object is or has inside."""
    if isinstance(literal, Listing):
        draft = object_plan(ObjectLiteral((("steps", literal),), literal.span)) if loose else None
        if draft is not None and not any(draft.columns["subtasks"].entries):
            draft = None
        inner: Sequence[Literal] = literal.items
    else:
        draft = object_plan(literal, goes_on=True)
        inner = [value for _, value in literal.fields]
    if draft is not None and (_length(draft) or draft.reasoning):
        yield draft
        return
    for value in inner:
        if isinstance(value, Listing | ObjectLiteral):
            yield from _drafts(value, loose=loose)
    if draft is not None:
        yield draft


def _length(draft: Draft) -> int:
    return max(len(column.entries) for column in draft.columns.values())
