"""Names a plan that a completion only quotes to show the form: one of placeholders, or one in a refusal."""

from __future__ import annotations

import re

from conductor.planner.parsing.strict_form import not_valid
from conductor.workflow.plan_report import Candidate, PlanProblem

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
