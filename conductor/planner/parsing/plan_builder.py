"""Makes a workflow of one plan as it is written: what each entry means, what was repaired, what is wrong.

Knows the pool's names and the dialects of access lists; knows nothing of where plans are in a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from conductor.planner.parsing.find_plans import unreadable
from conductor.planner.parsing.literals import (
    Listing,
    Literal,
    Number,
    ObjectLiteral,
    RepairKind,
    Text,
    Word,
    repair,
    short,
)
from conductor.planner.parsing.plan_forms import LIST_NAMES, Draft, ListName
from conductor.workflow.model import MAX_INSTRUCTION, MAX_WRITTEN_STEPS, Step, Workflow, problems_of
from conductor.workflow.plan_report import Candidate, Dialect, Form, PlanProblem, ToolsOfWorkers
from conductor.workflow.step_tools import unnamed

_ABSENT = frozenset(("none", "null"))
"""Words, in any case, that mean that there is nothing."""

_NO_NAMES = _ABSENT | {"true", "false"}
_WHOLE = re.compile(r"\s*(-?(?:0|[1-9][0-9]{0,17}))\s*")
_LOOSE_WHOLE = re.compile(r"[\s\[(]*(-?(?:0|[1-9][0-9]{0,17}))(?:\.0+)?[\s\])]*")
_NUMBERED = re.compile(
    r"[\s\[(#]*(?:(?:model|agent|worker)[\s_#-]+)?([0-9]{1,9})(?:[\s\])]*[:.)(=-]\s*(.+?)[\s)]*)?", re.I
)
_LISTED = re.compile(r"\s*[\[(]([^\[\](){}]*)[\])]\s*")
_NUMERIC = re.compile(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?", re.IGNORECASE)

_LEGAL: Mapping[Dialect, str] = {
    "any": '[], "all" or a list of earlier steps\' numbers',
    "binary": '[] or "all"',
    "position": "[] or a list of earlier steps' numbers",
    "worker": "[] or a list of workers' numbers",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What plans are judged by; see `parse`."""

    workers: Sequence[str]
    dialect: Dialect
    max_steps: int
    round: int
    form: Form
    tools: ToolsOfWorkers = ()
    loose: bool = False


class PlanBuilder:
    """Reads the entries of one draft step by step. Messages count steps from 1."""

    def __init__(self, draft: Draft, rules: Rules) -> None:
        self._draft = draft
        self._rules = rules
        # The required form is no repair.
        required = "json-steps" if rules.form == "json" else None
        self._repairs = [loose for loose in draft.repairs if loose.kind != required]
        self._problems: list[PlanProblem] = []
        self._workers: list[int | None] = []

    def candidate(self, text: str) -> Candidate:
        """The plan of the completion `text`, read and judged."""
        columns = [self._draft.columns[name] for name in LIST_NAMES]
        empty = not any(column.fault or column.entries for column in columns)
        self._judge_tools()
        if empty and self._rules.round < 2:
            self._wrong(None, "The plan has no step; plan at least one (only a later round may have none).")
        self._judge_lists()
        # Of a plan with more steps, which is not valid, the others are not looked at.
        count = min(max(len(column.entries) for column in columns), MAX_WRITTEN_STEPS)
        steps = [step for step in map(self._step, range(count)) if step is not None]
        if not empty and not self._problems:
            for problem in problems_of(steps):
                self._wrong(problem.step, str(problem))
        valid = not self._problems
        workers = tuple(worker for worker in self._workers if worker is not None)
        access = self._draft.columns["access_list"].entries
        return Candidate(
            span=self._draft.span,
            workflow=Workflow.of(steps) if valid and not empty else None,
            worker_indices=workers if len(workers) == count else (),
            written_access=tuple("" if entry is None else text[slice(*entry.span)] for entry in access),
            return_previous=valid and empty,
            repairs=tuple(sorted(self._repairs, key=lambda loose: loose.span)),
            problems=tuple(self._problems),
        )

    def so_far(self, i: int) -> tuple[str | None, str, tuple[int, ...]]:
        """Of an unfinished plan, the worker, the instruction and the access of step `i`, each as far as it is
        there; steps are read in order.
        """
        worker = self._worker(i) if self._has("model_id", i) else None
        self._workers.append(worker)
        entry = self._draft.columns["subtasks"].entries[i] if self._has("subtasks", i) else None
        workers = dict(enumerate(self._rules.workers))
        return (
            None if worker is None else workers.get(worker),
            entry.value if isinstance(entry, Text) else "",
            self._access(i)[0] if self._has("access_list", i) else (),
        )

    def _wrong(self, step: int | None, message: str) -> None:
        problem = PlanProblem(step=step, message=message)
        if problem not in self._problems:
            self._problems.append(problem)

    def _repaired(self, kind: RepairKind, detail: str, literal: Literal) -> None:
        self._repairs.append(repair(kind, detail, literal.span))

    def _judge_lists(self) -> None:
        columns = self._draft.columns
        if self._draft.by_step and (fault := columns["model_id"].fault):
            self._wrong(None, f"The steps cannot be read: {fault}. Write them again.")
            return
        for name, column in columns.items():
            if column.fault:
                self._wrong(None, unreadable(name, column.fault))
        lengths = {name: len(columns[name].entries) for name in LIST_NAMES if not columns[name].fault}
        if len(set(lengths.values())) > 1:
            have = ", ".join(f"{name} {length}" for name, length in lengths.items())
            self._wrong(None, f"The lists have different lengths ({have}); give each one entry a step.")
        limit = min(self._rules.max_steps, MAX_WRITTEN_STEPS)
        count = max(lengths.values(), default=0)
        if count > limit:
            self._wrong(None, f"The plan has {count} steps; the limit is {limit}. Plan fewer steps.")

    def _step(self, i: int) -> Step | None:
        """The step at position `i`, None if its worker is not known."""
        worker = self._worker(i) if self._has("model_id", i) else None
        self._workers.append(worker)
        instruction = self._instruction(i) if self._has("subtasks", i) else ""
        access, everything = self._access(i) if self._has("access_list", i) else ((), False)
        if worker is None or not 0 <= worker < len(self._rules.workers):
            return None
        return Step(
            instruction=instruction,
            worker=self._rules.workers[worker],
            access=access,
            sees_previous=everything and self._rules.round > 1,
            tools=self._tools(i, worker),
        )

    def _has(self, name: ListName, i: int) -> bool:
        return i < len(self._draft.columns[name].entries)

    # -- tools -------------------------------------------------------------------------------------

    def _judge_tools(self) -> None:
        column = self._draft.tools
        if column is None:
            return
        if not self._rules.tools:
            detail = "the tools of the steps were ignored: this Conductor is not asked to choose them"
            self._repairs.append(repair("other-tools", detail, self._draft.span))
        elif column.fault:
            self._wrong(None, f"The list tools cannot be read: {column.fault}. Write it again.")
        elif len(column.entries) > (steps := len(self._draft.columns["model_id"].entries)):
            have = f"tools {len(column.entries)}, model_id {steps}"
            self._wrong(None, f"The lists have different lengths ({have}); give each one entry a step.")

    def _tools(self, i: int, worker: int) -> tuple[str, ...] | None:
        """The tools that step `i` may call, None: all of its worker's."""
        entries = self._draft.tools.entries if self._draft.tools and self._rules.tools else ()
        entry = entries[i] if i < len(entries) else None
        if entry is None or (isinstance(entry, Word) and entry.value.casefold() in _ABSENT):
            return None
        items = entry.items if isinstance(entry, Listing) else (entry,)
        if isinstance(entry, Text):
            self._repaired("other-tools", f"{short(entry)} was read as a list of one", entry)
        own = self._rules.tools[worker]
        for item in items:
            if not isinstance(item, Text) or unnamed((item.value,), own):
                may = f"some of {', '.join(own)}, [] for none or null for all" if own else "[] or null"
                self._wrong(i, f"Step {i + 1} names the tools {short(item)}; its worker allows {may}.")
                return None
        return tuple(item.value for item in items if isinstance(item, Text))

    # -- a worker, an instruction ------------------------------------------------------------------

    def _worker(self, i: int) -> int | None:
        entry = self._draft.columns["model_id"].entries[i]
        if entry is None:
            number = "name" if self._rules.form == "names" else "number"
            self._wrong(
                i, f"Step {i + 1} names no worker; give it the {number} of one{self._key('model_id', i)}."
            )
            return None
        index, problem = self._pool_number(entry)
        if problem:
            self._wrong(i, f"Step {i + 1} {problem}.")
        return index

    def _key(self, key: str, i: int) -> str:
        """Where a step that is an object lacks something, and what it has instead."""
        if not self._draft.keys:
            return ""
        own = ", ".join(repr(other)[:30] for other in self._draft.keys[i][:8])
        return f" under the key {key} (its keys are {own})"

    def _pool_number(self, literal: Literal) -> tuple[int | None, str | None]:
        """The pool number that a literal names and what is wrong with it (one of them, or both)."""
        workers = self._rules.workers
        name, named = _name(literal), f"names the worker {short(literal)}"
        same = [i for i, worker in enumerate(workers) if name and worker.casefold() == name.casefold()]
        if len(same) == 1 and self._rules.form == "names":
            return same[0], None  # the required form is no repair
        if len(same) == 1:
            if isinstance(literal, Word):
                self._repaired("bare-word", f"{short(literal)} was read as a name", literal)
            self._repaired("worker-name", f"the name {short(literal)} was read as worker {same[0]}", literal)
            return same[0], None
        if len(same) > 1:
            numbers = ", ".join(map(str, same))
            return None, f"{named}, which is any of the numbers {numbers}; write one"
        number = self._whole_number(literal)
        numbered = _NUMBERED.fullmatch(name) if name and self._rules.loose else None
        if number is None and numbered and numbered[2] in (None, *workers[int(numbered[1]) :][:1]):
            number = int(numbered[1])
            self._repaired("worker-name", f"{short(literal)} was read as worker {number}", literal)
        if number is not None and 0 <= number < len(workers):
            return number, None
        choices = ", ".join(f"{i} ({worker})" for i, worker in enumerate(workers))
        choose = f"choose one of: {choices or 'none, the pool is empty'}"
        if number is not None:
            return number, f"asks for worker {number}, which the pool does not have; {choose}"
        if name is None:
            return None, f"has {short(literal)} for its worker; {choose}"
        return None, f"{named}, which the pool does not have; {choose}"

    def _whole_number(self, literal: Literal) -> int | None:
        """The number that a literal is, or spells (a repair); None for anything else."""
        if isinstance(literal, Number):
            return literal.value
        spelling = _LOOSE_WHOLE if self._rules.loose else _WHOLE
        spelt = spelling.fullmatch(literal.value) if isinstance(literal, Text | Word) else None
        if spelt is None:
            return None
        self._repaired("number-as-string", f"{short(literal)} was read as a number", literal)
        return int(spelt[1])

    def _instruction(self, i: int) -> str:
        entry = self._draft.columns["subtasks"].entries[i]
        if not isinstance(entry, Text):
            self._wrong(
                i,
                f"Step {i + 1} has {short(entry)} for its subtask; write what its worker shall do"
                f"{'' if entry else self._key('instruction', i)}.",
            )
            return ""
        if not entry.value.strip():
            self._wrong(i, f"Step {i + 1} has an empty subtask; write what its worker shall do.")
        if len(entry.value) > MAX_INSTRUCTION:
            self._wrong(
                i,
                f"Step {i + 1} has a subtask of {len(entry.value):,} characters; "
                f"the limit is {MAX_INSTRUCTION:,}. Write a shorter one.",
            )
        return entry.value

    # -- access ------------------------------------------------------------------------------------

    def _access(self, i: int) -> tuple[tuple[int, ...], bool]:
        """The earlier steps that step `i` reads, and whether its entry is "all"."""
        entry = self._draft.columns["access_list"].entries[i]
        dialect = self._rules.dialect
        if entry is None or (isinstance(entry, Word) and entry.value.casefold() in _ABSENT):
            legal = f"{_LEGAL[dialect]} ([] reads nothing)"
            key = self._key("access", i) if entry is None else ""
            self._wrong(i, f"Step {i + 1} has no access list; write {legal}{key}.")
            return (), False
        if self._rules.loose:
            entry = self._unwrapped(entry)
        items = entry.items if isinstance(entry, Listing) else (entry,)
        # "all" without brackets is how the binary dialect itself writes it.
        if not isinstance(entry, Listing | ObjectLiteral) and not (dialect == "binary" and _is_all(entry)):
            self._repaired("bare-access", f"{short(entry)} was read as a list of one", entry)
        reads: set[int] = set()
        for item in items:
            read = self._reads(item, i)
            if read and reads.issuperset(read):
                detail = f"{short(item)} repeats what the list reads already, and was ignored"
                self._repaired("repeated-access", detail, item)
            reads.update(read)
        return tuple(sorted(reads)), any(map(_is_all, items))

    def _unwrapped(self, entry: Literal) -> Literal:
        """The list that a text holds, or the items of lists inside a list: a repair."""
        listed = _LISTED.fullmatch(entry.value) if isinstance(entry, Text) else None
        nested = isinstance(entry, Listing) and any(isinstance(item, Listing) for item in entry.items)
        if listed is None and not nested:
            return entry
        self._repaired("bare-access", f"{short(entry)} was read as one list", entry)
        if listed:
            parts = [part.strip(" \"'") for part in listed[1].split(",")]
            return Listing(tuple(Text(part, entry.span) for part in parts if part), entry.span)
        assert isinstance(entry, Listing)
        rows = (item.items if isinstance(item, Listing) else (item,) for item in entry.items)
        return Listing(tuple(chain.from_iterable(rows)), entry.span)

    def _reads(self, item: Literal, i: int) -> Sequence[int]:
        """The steps that one item of the entry of step `i` means."""
        step, dialect = f"Step {i + 1}", self._rules.dialect
        elsewhere = f"legal in another dialect only; write {_LEGAL[dialect]}."
        if _is_all(item):
            if dialect in ("position", "worker"):
                self._wrong(i, f'{step} reads "all", which is {elsewhere}')
                return ()
            if isinstance(item, Word):
                self._repaired("bare-word", f'{item.value} was read as "all"', item)
            return range(i)
        number = self._pool_number(item)[0] if dialect == "worker" else self._whole_number(item)
        if number is None:
            self._wrong(i, f"{step} has the access entry {short(item)}; write {_LEGAL[dialect]}.")
        elif dialect == "binary":
            self._wrong(i, f"{step} reads {number}, but numbers are {elsewhere}")
        elif dialect == "worker":
            return self._steps_of_worker(number, i)
        elif problem := _position_problem(number, i):
            self._wrong(i, f"{step} {problem}")
        else:
            return (number,)
        return ()

    def _steps_of_worker(self, number: int, i: int) -> Sequence[int]:
        """Every step before `i` that ran on the worker `number`."""
        pool = len(self._rules.workers)
        if not 0 <= number < pool:
            self._wrong(
                i,
                f"Step {i + 1} reads worker {number}, which the pool does not have; "
                f"write numbers from 0 to {pool - 1}.",
            )
            return ()
        earlier = [step for step in range(i) if self._workers[step] == number]
        if not earlier and self._workers[i] != number:
            ran = sorted({worker for worker in self._workers[:i] if worker is not None})
            have = f"write one of {', '.join(map(str, ran))}, or []" if ran else "write []"
            self._wrong(i, f"Step {i + 1} reads worker {number}, but no earlier step runs on it; {have}.")
        return earlier


def _name(literal: Literal) -> str | None:
    """The name that a literal may be."""
    match literal:
        case Text(value=value):
            return value.strip()
        case Word(value=value) if value.casefold() not in _NO_NAMES and not _NUMERIC.fullmatch(value):
            return value
        case _:
            return None


def _is_all(item: Literal) -> bool:
    return isinstance(item, Text | Word) and item.value.strip().casefold() == "all"


def _position_problem(number: int, step: int) -> str | None:
    """Why a step may not read position `number`, None when it may."""
    may = f"the numbers of earlier steps, 0 to {step - 1}" if step else "nothing: write []"
    if number < 0:
        return f"reads {number}, but steps are numbered from 0; it may read {may}."
    if number == step:
        return f"reads itself (written {number}); it may read {may}."
    if number > step:
        return f"reads step {number + 1} (written {number}), which is not before it; it may read {may}."
    return None
