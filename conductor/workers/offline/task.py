"""What an expert is asked: the query, its own instruction, and the answers it may see. Values only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conductor.messages import Request, SeenResponse, Value

# Each takes the rest of its line as it is: what must be trimmed there would be tried at every character.
_ANSWER = re.compile(r"^[^\w\n]*(?:final )?answer[^\w\n]*?:\s*(\S.*)", re.IGNORECASE | re.MULTILINE)
_SAID = re.compile(r"\b(?:answer|result) is:?\s+(\S.*)", re.IGNORECASE)
_NOT_CHECKED = " (not checked)"
_PLAN = re.compile(r"^\s*plan\b|\b(?:do not|don't|without) solv", re.IGNORECASE)
_CHECK = re.compile(r"^\W*(?:please )?(?:check|verify|re-?check|double-check|review)\b", re.IGNORECASE)


class Task(Value):
    """The parts of a request that experts read."""

    query: str
    instruction: str
    seen: tuple[SeenResponse, ...] = ()

    @classmethod
    def of(cls, request: Request) -> Task:
        """The task of a stored request."""
        return cls(query=request.query, instruction=request.instruction, seen=request.seen)

    @property
    def asks_plan(self) -> bool:
        """Whether the instruction wants a plan and no solution."""
        return bool(_PLAN.search(self.instruction))

    @property
    def asks_check(self) -> bool:
        """Whether the instruction begins by asking for a check."""
        return bool(_CHECK.search(self.instruction))

    @property
    def answers(self) -> tuple[SeenAnswer, ...]:
        """What each visible step answers, in order; steps that answer nothing (a plan) are left out."""
        found = ((seen, answer_in(seen.response)) for seen in self.seen)
        return tuple(SeenAnswer(seen, answer) for seen, answer in found if answer is not None)


@dataclass(frozen=True)
class SeenAnswer:
    """An earlier step and the answer its response ends with."""

    seen: SeenResponse
    text: str

    @property
    def source(self) -> str:
        """The step as people count it, with its worker."""
        return f"step {self.seen.step + 1} ({self.seen.worker})"


def answer_in(response: str) -> str | None:
    """What stands behind the last `Answer:` of a response, or its only line; None when neither is there."""
    if found := _ANSWER.findall(response):
        return str(found[-1]).rstrip().rstrip("*").strip().removesuffix(_NOT_CHECKED)
    if found := _SAID.findall(response):
        return str(found[-1]).strip().removesuffix(".").strip().removesuffix(_NOT_CHECKED)
    lines = response.strip().splitlines()
    return lines[0].strip() if len(lines) == 1 and len(lines[0]) <= 200 else None
