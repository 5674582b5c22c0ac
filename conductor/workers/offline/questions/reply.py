"""What the experts reply to an everyday question: the answer with its working, or a check of another one's.

Knows tasks and the one answer of a question; None where a question is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from conductor.workers.offline.countries import in_place, named_countries
from conductor.workers.offline.questions.meanings.meaning import Answer
from conductor.workers.offline.questions.reading import Subject, answer_to
from conductor.workers.offline.task import PREVIOUS, Task

NOT_CHECKED = "Not checked"
"""How the line about an answer begins that only the same computation could confirm."""

_known = lru_cache(maxsize=64)(answer_to)


def _answer_to(question: str) -> tuple[Subject, Answer] | None:
    """The answer as of today; planner, expert and checker ask for the same one after the other."""
    return _known(question, today=datetime.now().astimezone().date())


def subject_of(question: str) -> Subject | None:
    """The expert that answers a question, None where it is not understood."""
    found = _answer_to(question)
    return None if found is None else found[0]


def reply(expert: str, task: Task) -> Sequence[str] | None:
    """An expert's lines about the instruction where that is a question itself, else about the query."""
    found = _found(task)
    if found is not None and (expert == "checker" or task.asks_check):
        return _checked(found[1], task) if task.answers else None
    if found is None or found[0] != expert:
        return None
    if task.asks_plan:
        given = f"Given: {task.query.strip()}"
        return ["Kind of problem: everyday question", given, "Method: compute it step by step."]
    return [*found[1].working, f"Answer: {found[1].text}"]


def _found(task: Task) -> tuple[Subject, Answer] | None:
    instruction = task.instruction
    if task.answers:
        instruction = PREVIOUS.sub(lambda _: task.answers[-1].answer.removesuffix(" %"), instruction)
    own = _answer_to(instruction)
    if own is not None or _PARTICULAR.search(task.instruction):
        return own
    of, asked = (set(named_countries(text)) for text in (instruction, task.query))
    if of <= asked:
        return _answer_to(task.query)
    # Answer the question for Japan.
    return _answer_to(in_place(task.query, of.pop())) if len(of) == len(asked) == 1 else None


_PARTICULAR = re.compile(
    r"\d|[\"“«]|\b(?:previous|visible|last|above|earlier) (?:result|answer|value|number|step)\b"
    r"|\b(?:instead|twice|half|double)\b",
    re.IGNORECASE,
)
"""What an instruction has that does not just ask for the query's answer."""


def _checked(right: Answer, task: Task) -> Sequence[str]:
    """Every visible answer compared with that of the question, unless the same computation led to both."""
    own = [*right.working, f"Answer: {right.text}"]
    lines = list(right.working)
    for step in task.answers:
        if _plain(step.answer) != _plain(right.text):
            found, how = "Correction", f"The right answer is {right.text}."
        elif step.response.splitlines() == own:
            found, how = NOT_CHECKED, "I know only the way in which it was computed."
        else:
            found, how = "Verified", "Computed by rules, it is the same."
        lines.append(f"{found}: {step.source} answers {step.answer}. {how}")
    checked = any(not line.startswith(NOT_CHECKED) for line in lines[len(right.working) :])
    return [*lines, f"Answer: {right.text}" if checked else f"Answer: {right.text} (not checked)"]


def _plain(text: str) -> str:
    return re.sub(r"[^\w%/-]+", " ", text.casefold().removeprefix("about ")).strip()
