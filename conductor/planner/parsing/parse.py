"""Reads a Conductor's completion: from text to a plan report.

`find_plans` finds plans in a text, `plan_builder` judges them. Pure: nothing in the text is ever evaluated,
and an invalid plan is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.planner.parsing.find_plans import find_plans
from conductor.planner.parsing.plan_builder import PlanBuilder, Rules
from conductor.planner.parsing.plan_forms import Draft
from conductor.workflow.plan_report import Candidate, Dialect, Form, PlanProblem, PlanReport, Span


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
    blocks = _thinking(text)
    body = _blanked(text, blocks)
    drafts, incomplete = find_plans(body, gaps=[start for start, _ in blocks])
    rules = Rules(workers, dialect, max_steps, round, form)
    candidates = tuple(PlanBuilder(draft, rules).candidate(text) for draft in drafts)
    chosen = _chosen(candidates)
    if chosen is None:
        reasons = incomplete or (_no_plan(only_thinking=bool(blocks) and not body.strip()),)
        problems = tuple(PlanProblem(step=None, message=reason) for reason in reasons)
    else:
        problems = candidates[chosen].problems
    thoughts = (_TAG.sub("", text[start:end]).strip() for start, end in blocks)
    return PlanReport(
        text=text,
        thinking="\n\n".join(filter(None, thoughts)),
        reasoning=_reasoning(body, None if chosen is None else drafts[chosen]),
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


def _no_plan(*, only_thinking: bool) -> str:
    message = "There is no plan in the text; end it with the lists model_id, subtasks and access_list."
    return f"{message} The text is thinking only; allow more tokens." if only_thinking else message


def _reasoning(body: str, draft: Draft | None) -> str:
    """The text around the plan, and what the plan's own object gives as its reasoning."""
    if draft is None:
        return body.strip()
    start, end = draft.span
    return "\n\n".join(filter(None, (body[:start].strip(), draft.reasoning, body[end:].strip())))


# -- thinking --------------------------------------------------------------------------------------

_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)


def _thinking(text: str) -> list[Span]:
    """The `<think>` blocks with their tags, in ascending order.

    Reasoning servers often strip the opening tag, so a closing tag without one makes everything before it
    thinking. A cut completion has no closing tag: everything after the opening one is thinking. A block with
    blocks inside it lasts until its own closing tag, where there is one.
    """
    blocks: list[Span] = []
    opened: int | None = None
    nested = 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if opened is None:
                opened, nested = tag.start(), 0
            else:
                nested += 1
        elif opened is not None:
            blocks.append((opened, tag.end()))
            opened = None
        elif nested:
            blocks[-1] = (blocks[-1][0], tag.end())
            nested -= 1
        else:
            blocks = [(0, tag.end())]
    if opened is not None:
        blocks.append((opened, len(text)))
    return blocks


def _blanked(text: str, blocks: Sequence[Span]) -> str:
    """The text with blanks in place of thinking, so that offsets agree."""
    pieces: list[str] = []
    at = 0
    for start, end in blocks:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])
