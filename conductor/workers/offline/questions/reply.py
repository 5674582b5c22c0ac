"""What the experts reply to an everyday question: the answer with its working, or a check of another one's.

Knows tasks and the one answer of a question; None where a question is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from conductor.workers.offline.questions.meaning import Answer
from conductor.workers.offline.questions.reading import Subject, answer_to
from conductor.workers.offline.task import Task

_answer_to = lru_cache(maxsize=64)(answer_to)


def subject_of(question: str) -> Subject | None:
    """The expert that answers a question, None where it is not understood."""
    found = _answer_to(question)
    return None if found is None else found[0]


def reply(expert: Subject, task: Task) -> Sequence[str] | None:
    """An expert's lines: of the instruction where that is a question itself, else of the query."""
    found = _found(task)
    if found is None or found[0] != expert:
        return None
    if task.asks_plan:
        return [
            "Kind of problem: everyday question",
            f"Given: {task.query.strip()}",
            "Method: compute it step by step.",
        ]
    return [*found[1].working, f"Answer: {found[1].text}"]


def _found(task: Task) -> tuple[Subject, Answer] | None:
    instruction = task.instruction
    if task.answers:
        instruction = _PREVIOUS.sub(lambda _: task.answers[-1].answer.removesuffix(" %"), instruction)
    own = _answer_to(instruction)
    return _answer_to(task.query) if own is None and not _PARTICULAR.search(task.instruction) else own


_PREVIOUS = re.compile(
    r"\b(?:the )?(?:result|answer|value) of (?:the previous step|step \d+)\b"
    r"|\b(?:the )?(?:previous|visible|last|above|earlier) (?:result|answer|value|number)\b",
    re.IGNORECASE,
)
_PARTICULAR = re.compile(
    r"\d|[\"“«]|\b(?:previous|visible|last|above|earlier) (?:result|answer|value|number|step)\b"
    r"|\b(?:instead|twice|half|double)\b",
    re.IGNORECASE,
)
"""What an instruction has that does not just ask for the query's answer."""


def check_of(task: Task) -> Sequence[str] | None:
    """Every visible answer compared with the question's; None where there is none or nothing to check."""
    found = _found(task)
    if found is None or not task.answers:
        return None
    right, lines = found[1].text, list(found[1].working)
    for step in task.answers:
        same = _plain(step.answer) == _plain(right)
        how = "The question was read and computed again." if same else f"The right answer is {right}."
        lines.append(f"{'Verified' if same else 'Correction'}: {step.source} answers {step.answer}. {how}")
    return [*lines, f"Answer: {right}"]


def _plain(text: str) -> str:
    return re.sub(r"[^\w%/-]+", " ", text.casefold().removeprefix("about ")).strip()
