"""Reads a Conductor's completion: from text to a plan report.

Knows what makes a plan valid; `find_plans` finds plans in a text, `entries` reads access entries. Pure:
nothing in the text is ever evaluated, and an invalid plan is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conductor.planner.parsing.entries import Meaning, Place, access_of, shown, worker_index
from conductor.planner.parsing.find_plans import Draft, PlanText, find_plans
from conductor.planner.parsing.literals import Literal, Text
from conductor.planner.parsing.plan_forms import LIST_NAMES, Column, ListName
from conductor.planner.parsing.thinking import Spoken, split
from conductor.workflow.model import MAX_INSTRUCTION, MAX_STEPS, Step, Workflow, problems_of
from conductor.workflow.plan_report import Candidate, Dialect, Form, PlanProblem, PlanReport, Repair


@dataclass(frozen=True, slots=True)
class _Rules:
    workers: Sequence[str]
    dialect: Dialect
    max_steps: int
    round: int
    form: Form


@dataclass(slots=True)
class _Findings:
    """What reading one plan gives besides its steps."""

    repairs: list[Repair] = field(default_factory=list)
    problems: list[PlanProblem] = field(default_factory=list)

    def wrong(self, step: int | None, message: str) -> None:
        self.problems.append(PlanProblem(step=step, message=message))


def parse(
    text: str,
    *,
    workers: Sequence[str],
    dialect: Dialect = "any",
    max_steps: int = 5,
    round: int = 1,
    form: Form = "lists",
) -> PlanReport:
    """The report of a Conductor's completion.

    `workers` are the pool's names in the order that the prompt numbered them. `round` counts from 1; three
    empty lists are legal from round 2 on. `form` is the form that the prompt required: both are read, and the
    other one is a repair. Takes any text and raises nothing: the report names what is wrong, steps counted
    from 1 in messages.
    """
    spoken = split(text)
    found = find_plans(spoken.body, gaps=[start for start, _ in spoken.blocks])
    rules = _Rules(workers, dialect, max_steps, round, form)
    candidates = tuple(_candidate(draft, text, rules) for draft in found.drafts)
    chosen = _chosen(candidates)
    problems = tuple(_missing(found, spoken)) if chosen is None else candidates[chosen].problems
    return PlanReport(
        text=text,
        thinking=spoken.thinking,
        reasoning=_reasoning(spoken.body, None if chosen is None else found.drafts[chosen]),
        dialect=dialect,
        candidates=candidates,
        chosen=chosen,
        problems=problems,
    )


def _chosen(candidates: Sequence[Candidate]) -> int | None:
    """The last valid plan, else the last one."""
    if not candidates:
        return None
    valid = [i for i, candidate in enumerate(candidates) if candidate.ok]
    return valid[-1] if valid else len(candidates) - 1


def _reasoning(body: str, draft: Draft | None) -> str:
    """The text around the plan, and what the plan's own object gives as its reasoning."""
    if draft is None:
        return body.strip()
    start, end = draft.span
    parts = (body[:start].strip(), draft.reasoning, body[end:].strip())
    return "\n\n".join(part for part in parts if part)


def _missing(found: PlanText, spoken: Spoken) -> Iterator[PlanProblem]:
    """Why a text holds no complete plan."""
    if not found.listed and not found.unlisted:
        message = "There is no plan in the text; end it with the lists model_id, subtasks and access_list."
        if spoken.blocks and not spoken.body.strip():
            message += " The text is thinking only; allow more tokens."
        yield PlanProblem(step=None, message=message)
        return
    for name in LIST_NAMES:
        if name not in found.listed:
            fault = "is missing"
            if name in found.unlisted:
                instead = f" ({found.unlisted[name]!r} stands there)" if found.unlisted[name] else ""
                fault = f"has a label, but no list follows it{instead}"
            message = f"The list {name} {fault}; write {name} = [...] with one entry a step."
            yield PlanProblem(step=None, message=message)
        elif name in found.faults:
            yield PlanProblem(step=None, message=_unreadable(name, found.faults[name]))


def _candidate(draft: Draft, text: str, rules: _Rules) -> Candidate:
    """One plan, read and judged."""
    # The required form is no repair.
    asked_for = {"json-steps"} if rules.form == "json" else set()
    findings = _Findings(repairs=[repair for repair in draft.repairs if repair.kind not in asked_for])
    columns = [draft.columns[name] for name in LIST_NAMES]
    empty = not any(column.fault or column.entries for column in columns)
    if empty and rules.round < 2:
        findings.wrong(
            None, "The three lists are empty; plan at least one step (only a later round may be empty)."
        )
    _judge_lists(draft, rules, findings)
    steps, indices = _steps(draft, rules, findings)
    if not empty and not findings.problems:
        for problem in problems_of(steps):
            findings.wrong(problem.step, str(problem))
    valid = not findings.problems
    return Candidate(
        span=draft.span,
        workflow=Workflow.of(steps) if valid and not empty else None,
        worker_indices=indices,
        written_access=tuple(_written(entry, text) for entry in draft.columns["access_list"].entries),
        return_previous=valid and empty,
        repairs=tuple(sorted(findings.repairs, key=lambda repair: repair.span)),
        problems=tuple(findings.problems),
    )


def _written(entry: Literal | None, text: str) -> str:
    return "" if entry is None else text[slice(*entry.span)]


def _unreadable(name: ListName, fault: str) -> str:
    return f"The list {name} cannot be read: {fault}. Write it again."


def _judge_lists(draft: Draft, rules: _Rules, findings: _Findings) -> None:
    """What is wrong with the lists as a whole."""
    if draft.by_step and draft.columns["model_id"].fault:
        findings.wrong(
            None, f"The steps cannot be read: {draft.columns['model_id'].fault}. Write them again."
        )
        return
    for name, column in draft.columns.items():
        if column.fault:
            findings.wrong(None, _unreadable(name, column.fault))
    lengths = {name: len(draft.columns[name].entries) for name in LIST_NAMES if not draft.columns[name].fault}
    if len(set(lengths.values())) > 1:
        have = ", ".join(f"{name} {length}" for name, length in lengths.items())
        findings.wrong(None, f"The lists have different lengths ({have}); give each one entry a step.")
    limit = min(rules.max_steps, MAX_STEPS)
    count = max(lengths.values(), default=0)
    if count > limit:
        findings.wrong(None, f"The plan has {count} steps; the limit is {limit}. Plan fewer steps.")


def _steps(draft: Draft, rules: _Rules, findings: _Findings) -> tuple[list[Step], tuple[int, ...]]:
    """The steps that could be read, and the pool numbers as written (none where one is not known).

    Steps past `MAX_STEPS` are not looked at: the plan is already invalid.
    """
    count = min(max(len(column.entries) for column in draft.columns.values()), MAX_STEPS)
    indices: list[int | None] = []
    steps: list[Step] = []
    for i in range(count):
        indices.append(_worker(draft.columns["model_id"], i, rules, findings))
        instruction = _instruction(draft.columns["subtasks"], i, findings)
        sight = _access(draft.columns["access_list"], i, indices, rules, findings)
        worker = indices[i]
        if worker is not None and 0 <= worker < len(rules.workers):
            steps.append(
                Step(
                    instruction=instruction,
                    worker=rules.workers[worker],
                    access=sight.access,
                    sees_previous=sight.everything and rules.round > 1,
                )
            )
    known = tuple(index for index in indices if index is not None)
    return steps, known if len(known) == count else ()


def _worker(column: Column, i: int, rules: _Rules, findings: _Findings) -> int | None:
    if i >= len(column.entries):
        return None
    entry = column.entries[i]
    if entry is None:
        findings.wrong(i, f"Step {i + 1} names no worker; give it the number of one.")
        return None
    index, problem = worker_index(entry, rules.workers, findings.repairs)
    if problem:
        findings.wrong(i, f"Step {i + 1} {problem}.")
    return index


def _instruction(column: Column, i: int, findings: _Findings) -> str:
    if i >= len(column.entries):
        return ""
    entry = column.entries[i]
    if not isinstance(entry, Text):
        findings.wrong(i, f"Step {i + 1} has {shown(entry)} for its subtask; write what its worker shall do.")
        return ""
    if not entry.value.strip():
        findings.wrong(i, f"Step {i + 1} has an empty subtask; write what its worker shall do.")
    if len(entry.value) > MAX_INSTRUCTION:
        findings.wrong(
            i,
            f"Step {i + 1} has a subtask of {len(entry.value):,} characters; "
            f"the limit is {MAX_INSTRUCTION:,}. Write a shorter one.",
        )
    return entry.value


def _access(
    column: Column, i: int, indices: Sequence[int | None], rules: _Rules, findings: _Findings
) -> Meaning:
    if i >= len(column.entries):
        return Meaning()
    place = Place(step=i, workers=indices, pool=rules.workers)
    meaning = access_of(column.entries[i], place, dialect=rules.dialect)
    findings.repairs += meaning.repairs
    for problem in meaning.problems:
        findings.wrong(i, problem)
    return meaning
