"""Reads a Conductor's completion: from text to a plan report.

`find_plans` finds plans in a text, `plan_builder` judges them. Pure: nothing in the text is ever evaluated,
and an invalid plan is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conductor.planner.parsing.find_plans import find_plans
from conductor.planner.parsing.literal_reader import LiteralReader
from conductor.planner.parsing.literals import Listing, Literal, RepairKind, Text
from conductor.planner.parsing.plan_builder import PlanBuilder, Rules
from conductor.planner.parsing.plan_forms import LIST_NAMES, Column, Draft, ListName
from conductor.planner.parsing.views import views
from conductor.text.thoughts import TextPiece, read_thoughts
from conductor.workflow.model import MAX_WRITTEN_STEPS, Workflow
from conductor.workflow.plan_report import (
    Candidate,
    Dialect,
    Form,
    PlanProblem,
    PlanReport,
    Repair,
    Span,
    ToolsOfWorkers,
)


def parse(
    text: str,
    *,
    workers: Sequence[str],
    dialect: Dialect = "any",
    max_steps: int = 5,
    round: int = 1,
    form: Form = "lists",
    tools: ToolsOfWorkers = (),
    strict: bool = False,
    cut: bool = False,
) -> PlanReport:
    """The report of a Conductor's completion.

    `workers` are the pool's names in the order that the prompt numbered them. `round` counts from 1; three
    empty lists are legal from round 2 on. `form` is the form that the prompt required: both are read, and the
    other one is a repair. `tools`: what a fourth list may name for a step; that list is ignored, which is a
    repair, where there are none. `strict`: three lists are read as the research code reads them, the first
    behind each label, and what would be a repair is a fault. `cut`: the completion ended at its token limit.

    Takes any text and raises nothing: the report names what is wrong, steps counted from 1 in messages.
    """
    body, blocks, thinking = _thinking(text)
    rules = Rules(workers, dialect, max_steps, round, form, tools)
    drafts, candidates, incomplete = (
        _strict_plans(body, rules) if strict else _plans(body, [start for start, _ in blocks], rules)
    )
    chosen = _chosen(candidates)
    if chosen is None:
        if blocks and not body.strip():
            incomplete = [f"{reason} The text is thinking only; allow more tokens." for reason in incomplete]
        # What a cut text lacks is no other fault.
        missing = () if cut else incomplete
        problems = tuple(PlanProblem(step=None, message=reason) for reason in missing)
    else:
        problems = candidates[chosen].problems
    if cut and (problems or chosen is None):
        problems = (PlanProblem(step=None, message=_CUT), *problems)
    return PlanReport(
        text=text,
        thinking=thinking,
        reasoning=body.strip()
        if chosen is None
        else _reasoning(body, drafts[chosen], candidates[chosen].span),
        dialect=dialect,
        candidates=candidates,
        chosen=chosen,
        problems=problems,
    )


_Plans = tuple[Sequence[Draft], tuple[Candidate, ...], Sequence[str]]
"""The plans as written and as read, and why there is none."""


def _strict_plans(body: str, rules: Rules) -> _Plans:
    draft = strict_draft(body)
    if isinstance(draft, str):
        return (), (), (draft,)
    return (draft,), (without_repairs(PlanBuilder(draft, rules).candidate(body)),), ()


def _plans(body: str, gaps: Sequence[int], rules: Rules) -> _Plans:
    """The plans of the first view of the text that has a valid one, else of the one that reads most."""
    most = (False, -1)
    best: _Plans = ((), (), ())
    for at, view in enumerate(views(body)):
        if view.decoded and most[0]:
            break
        drafts, lacks = find_plans(view, gaps=gaps, form=rules.form)
        builders = (PlanBuilder(draft, replace(rules, loose=view.loose)) for draft in drafts)
        read = tuple(
            without_examples(view.placed(builder.candidate(view.text)), body) for builder in builders
        )
        if any(candidate.ok for candidate in read):
            return drafts, read, lacks
        telling = bool(read), -len(read[-1].problems) if read else at
        if telling > most:
            most, best = telling, (drafts, read, lacks)
    return best


def _chosen(candidates: Sequence[Candidate]) -> int | None:
    """The last valid plan, else the last one."""
    if not candidates:
        return None
    valid = [i for i, candidate in enumerate(candidates) if candidate.ok]
    return valid[-1] if valid else len(candidates) - 1


_CUT = (
    "The answer was cut off at its token limit before the plan was whole; plan fewer and shorter steps, or "
    "raise max_tokens in the pool file."
)


def _reasoning(body: str, draft: Draft, span: Span) -> str:
    """The text around the plan, and what the plan's own object gives as its reasoning."""
    start, end = span
    return "\n\n".join(filter(None, (body[:start].strip(), draft.reasoning, body[end:].strip())))


# -- thinking --------------------------------------------------------------------------------------


def _thinking(text: str) -> tuple[str, list[Span], str]:
    """The text with blanks in place of thoughts and marks, so that offsets agree; where those stand; and the
    thoughts.
    """
    body, gaps, thoughts, at = list[str](), list[Span](), [list[str]()], 0
    for piece in (*read_thoughts(text), TextPiece("answer", "", len(text))):
        if piece.kind == "thought":
            thoughts[-1].append(piece.text)
            continue
        if text[at : piece.at].strip():
            gaps.append((at, piece.at))
        body += [" " * (piece.at - at), piece.text]
        at = piece.at + len(piece.text)
        thoughts.append([])
    return "".join(body), gaps, "\n\n".join(filter(None, ("".join(own).strip() for own in thoughts)))


# -- plans that are only quoted --------------------------------------------------------------------

PLACEHOLDER = re.compile(
    r"\s*(?:\.{2,9}|…{1,3}|<[^<>/]{1,60}>|\[[^\[\]]{1,60}\]|\{[^{}]{1,60}\}"
    r"|(?:your |the )?(?:instruction|subtask)s?(?: here| [0-9]{1,2}| for .{1,40})?[.…]{0,3})\s*\Z",
    re.IGNORECASE,
)
_SHOWS = re.compile(
    r"(?:\b(?:for example|for instance|e\.g|(?:format|example|template|syntax|shape|answer)\b[^.!?\n]{0,40}"
    r"\b(?:would|could|is|looks?)|zum beispiel|par exemple|por ejemplo)\b|格式|例如|示例)"
    r"[^.!?。\n]{0,60}[\s`]{0,9}(?:python|json)?\s{0,9}\Z",
    re.IGNORECASE,
)
_NOT = r"cannot|can ?not|can['’]t|could not|couldn['’]t|unable|not able|won['’]t"
_REFUSES_AFTER = re.compile(
    rf"\b(?:{_NOT}|need (?:more|the|your|to know)|please|bitte|merci de|por favor)\b|无法|不能|请",
    re.IGNORECASE,
)
_REFUSES_BEFORE = re.compile(
    rf"\b(?:I(?:['’]m| am)? (?:{_NOT})|sorry|ich kann|je ne peux|no puedo)\b|我无法|我不能|抱歉",
    re.IGNORECASE,
)
_AROUND = 600
"""Characters before and after a plan in which a refusal is looked for."""


def without_examples(candidate: Candidate, body: str) -> Candidate:
    """The candidate, which is not valid where the completion `body` does not mean it."""
    steps = candidate.workflow.steps if candidate.workflow else ()
    problems = [
        PlanProblem(
            step=at,
            message=f"Step {at + 1} has the placeholder {step.instruction.strip()!r} for its subtask; "
            "write what its worker shall do.",
        )
        for at, step in enumerate(steps)
        if PLACEHOLDER.match(step.instruction)
    ]
    start, end = candidate.span
    before, after = body[max(0, start - _AROUND) : start], body[end : end + _AROUND]
    refuses = _REFUSES_BEFORE.search(before) or _REFUSES_AFTER.search(after)
    if steps and refuses and _SHOWS.search(before[-200:]):
        message = "The text refuses, and its plan is an example of the form; write the plan itself."
        problems.append(PlanProblem(step=None, message=message))
    return not_valid(candidate, problems)


def over_limit(report: PlanReport | None, candidate: int | None = None) -> Workflow | None:
    """The workflow of a candidate (from 0; None: of the one that counts) that has too many steps.

    None if the plan is valid or has other faults as well, has more steps than a workflow may have, or
    if the prompt of its Conductor was not stored.
    """
    at = candidate if candidate is not None or report is None else report.chosen
    if report is None or report.prompt is None or at is None or not 0 <= at < len(report.candidates):
        return None
    prompt, refused = report.prompt, report.candidates[at]
    if refused.ok or not prompt.max_steps < len(refused.written_access) <= MAX_WRITTEN_STEPS:
        return None
    again = parse(
        report.text,
        workers=prompt.workers,
        dialect=report.dialect,
        max_steps=MAX_WRITTEN_STEPS,
        round=prompt.round,
        form=prompt.form,
        tools=prompt.tools,
    )
    whole = next((each for each in again.candidates if each.span == refused.span), None)
    return None if whole is None else whole.workflow


# -- the strict form -------------------------------------------------------------------------------
#
# As the research code finds a plan: three Python lists, each behind the first match of its label. Source:
# github.com/junho328/orchestrator, `conductor_utils.py`, `_extract_any`, without what it guesses where a list
# is no Python: that is no plan here.

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
