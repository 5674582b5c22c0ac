"""Finds a plan as the research code does: three Python lists, each behind the first match of its label.

Source: github.com/junho328/orchestrator, `conductor_utils.py`, `_extract_any`, without what it guesses where
a list is no Python: that is no plan here. Evaluates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conductor.planner.parsing.literal_reader import LiteralReader
from conductor.planner.parsing.literals import Listing, Literal, RepairKind, Text
from conductor.planner.parsing.plan_forms import LIST_NAMES, Column, Draft, ListName
from conductor.workflow.plan_report import Candidate, PlanProblem, Repair, Span

_LABELS: Mapping[ListName, re.Pattern[str]] = {
    "model_id": re.compile(r"(?:model_id|model ids?)\s*[:=]\s*", re.IGNORECASE),
    "subtasks": re.compile(r"subtasks?\s*[:=]\s*", re.IGNORECASE),
    "access_list": re.compile(r"access(?:[_ ]list)?\s*[:=]\s*", re.IGNORECASE),
}
_READ: Collection[RepairKind] = {
    "trailing-comma", "comment", "triple-quotes", "typographic-quotes", "repeated-access", "backtick",
    "code-fence",
}  # fmt: skip
"""What that code reads as it is."""


def strict_draft(body: str) -> Draft | str:
    """The plan that is written in `body`, or why there is none."""
    columns: dict[ListName, Column] = {}
    spans: list[Span] = []
    repairs: list[Repair] = []
    # Blanks, so that the places of all the rest stay.
    text = body.replace("`", " ")
    reader = LiteralReader(body, as_python=True)
    for name in LIST_NAMES:
        label = _LABELS[name].search(text)
        start = -1 if label is None else text.find("[", label.end())
        if label is None or start < 0:
            return f"The list {name} is missing; write {name} = [...] with one entry a step."
        reading = reader.read(start)
        entries = reading.literal.items if isinstance(reading.literal, Listing) else ()
        columns[name] = Column(tuple(map(_as_read, entries)), reading.fault)
        repairs += reading.repairs
        spans.append((label.start(), reading.span[1]))
    whole = (min(start for start, _ in spans), max(end for _, end in spans))
    return Draft(whole, columns, tuple(repairs))


def without_repairs(candidate: Candidate) -> Candidate:
    """The candidate, which is not valid where anything in it was repaired."""
    problems = tuple(
        PlanProblem(step=None, message=f"By the strict form it is a fault that {loose.detail}.")
        for loose in candidate.repairs
        if loose.kind not in _READ
    )
    return not_valid(candidate, problems)


def not_valid(candidate: Candidate, problems: Sequence[PlanProblem]) -> Candidate:
    """The candidate with further problems, if there are any."""
    if not problems:
        return candidate
    return candidate.model_copy(
        update={"workflow": None, "return_previous": False, "problems": (*candidate.problems, *problems)}
    )


def _as_read(entry: Literal) -> Literal:
    """An entry as that code reads it: an access list with "all" in it is all, and backticks are left out."""
    if isinstance(entry, Text):
        return replace(entry, value=entry.value.replace("`", ""))
    if isinstance(entry, Listing):
        for each in entry.items:
            if isinstance(each, Text) and each.value.strip().lower() == "all":
                return Listing((each,), entry.span)
    return entry
