"""The access of steps as rows of a grid: the access now, and how the Conductor wrote it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from conductor.errors import WorkflowError
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import Dialect, PlanReport
from pages.components.view_models.workflow.card_content import step_name

BEFORE = -1
"""Stands for the round before among the steps that a step may see."""

FILES = -2
"""Stands there for what is attached to the question."""

TOOLS = -3
"""Stands there for the tools of its worker."""

_MOST_WRITTEN = 60
"""Characters of an entry as it was written that a row has room for."""

DIALECTS: Mapping[Dialect, str] = {
    "any": 'positions from 0 or "all"',
    "binary": 'nothing or "all"',
    "position": "positions from 0",
    "worker": "workers' numbers from 0",
}
"""How access is written in each dialect."""


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A step as a reader. `written` is its entry as the Conductor wrote it, or None.

    `edited`: what it reads is another by now than what that entry meant.
    """

    name: str
    reads: tuple[int, ...]
    sees_previous: bool
    sees_files: bool
    written: str | None
    edited: bool

    @property
    def means(self) -> str:
        """What the step reads now, in words."""
        seen = ["the previous round"] if self.sees_previous else []
        if self.reads:
            seen.append(f"step{'s' * (len(self.reads) > 1)} {', '.join(_spans(self.reads))}")
        return " and ".join(seen) or "nothing"


def _spans(reads: Sequence[int]) -> Iterator[str]:
    """Ascending positions as numbers; three or more in a row as "1 to 3"."""
    for _, run in groupby(enumerate(reads), key=lambda place: place[1] - place[0]):
        numbers = [read + 1 for _, read in run]
        if len(numbers) > 2:
            yield f"{numbers[0]} to {numbers[-1]}"
        else:
            yield from map(str, numbers)


def access_rows(
    workflow: Workflow, *, planned: Workflow | None = None, report: PlanReport | None = None
) -> tuple[AccessRow, ...]:
    """A row for each step of `workflow`, which people may have made of `planned`, the plan of `report`."""
    candidate = report.candidate if report is not None else None
    entries = candidate.written_access if candidate is not None else ()
    has_plan = planned is not None and len(entries) == len(planned)
    origins = _origins(planned, workflow) if planned is not None and has_plan else [None] * len(workflow)
    place = {origin: now for now, origin in enumerate(origins) if origin is not None}
    rows = []
    for at, step in enumerate(workflow.steps):
        origin = origins[at]
        written, edited = None, False
        if planned is not None and origin is not None:
            plan_step = planned.steps[origin]
            reads = {place.get(read) for read in plan_step.access}
            written = _short(entries[origin])
            edited = (reads, plan_step.sees_previous) != ({*step.access}, step.sees_previous)
        name = step_name(workflow, at)
        rows.append(AccessRow(name, step.access, step.sees_previous, step.sees_files, written, edited))
    return tuple(rows)


def _origins(planned: Workflow, workflow: Workflow) -> list[int | None]:
    """For each step the planned one that it was made of: the one that reads the same, else the one in its
    place where no step was added or removed.
    """
    free = dict.fromkeys(range(len(planned)))
    origins: list[int | None] = []
    for at, step in enumerate(workflow.steps):
        alike = [old for old in free if planned.steps[old].instruction == step.instruction]
        origin = at if at in alike else next(iter(alike), None)
        if origin is not None:
            del free[origin]
        origins.append(origin)
    if len(planned) == len(workflow):
        return [at if origin is None and at in free else origin for at, origin in enumerate(origins)]
    return origins


def _short(entry: str) -> str:
    line = " ".join(entry[: _MOST_WRITTEN + 1].split())
    return line if len(line) <= _MOST_WRITTEN else f"{line[:_MOST_WRITTEN]}…"


@dataclass(frozen=True, slots=True)
class Wish:
    """That the step `reader` may read `read` (0-based, `BEFORE` or `FILES`) or call `TOOLS`, or no longer."""

    reader: int
    read: int
    sees: bool


def wishes_of(request: object) -> tuple[Wish, ...]:
    """What the browser asks for; what is malformed is left out."""
    wishes = []
    match request:
        case {"wishes": list(found), "at": int()}:
            for one in found:
                match one:
                    case {"reader": int(reader), "read": int(read), "sees": bool(sees)}:
                        wishes.append(Wish(reader, read, sees))
    return tuple(wishes)


def granted(workflow: Workflow, wishes: Iterable[Wish]) -> Workflow:
    """The workflow with these wishes carried out. Raises `WorkflowError` where one breaks a rule."""
    for wish in wishes:
        if not 0 <= wish.reader < len(workflow):
            raise WorkflowError(f"There is no step {wish.reader + 1}; this workflow has {len(workflow)}.")
        if wish.read == BEFORE:
            workflow = workflow.with_sight_of_previous(wish.reader, wish.sees)
        elif wish.read == FILES:
            workflow = workflow.with_sight_of_files(wish.reader, wish.sees)
        elif wish.read == TOOLS:
            workflow = workflow.with_tools(wish.reader, None if wish.sees else ())
        else:
            own = {*workflow.steps[wish.reader].access}
            reads = own | {wish.read} if wish.sees else own - {wish.read}
            workflow = workflow.with_access(wish.reader, reads)
    return workflow


def note_of(wishes: Sequence[Wish]) -> str:
    """What an edit that carries them out is called."""
    numbers = sorted({wish.reader + 1 for wish in wishes})
    if len(numbers) == 1:
        return f"Step {numbers[0]}: access"
    return f"Steps {', '.join(map(str, numbers))}: access"
