"""The task of an expert, the answers that it may see, and how it declines to answer. Values only.

Plain dataclasses: the child process reads them too, and starts sooner without pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conductor.text.final_answer import ANSWER_LINE, ANSWER_SENTENCE, NO_ANSWER, NOT_CHECKED

if TYPE_CHECKING:
    from conductor.values.messages import Request

_PLAN = re.compile(r"^\s*plan\b|\b(?:do not|don't|without) solv", re.IGNORECASE)
_CHECK = re.compile(r"^\W*(?:please )?(?:check|verify|re-?check|double-check|review)\b", re.IGNORECASE)
PREVIOUS = re.compile(
    r"\b(?:the )?(?:result|answer|value) of (?:the previous step|step \d+)\b"
    r"|\b(?:the )?(?:previous|visible|last|above|earlier) (?:result|answer|value|number)\b",
    re.IGNORECASE,
)
"""How an instruction names the last visible answer."""


class Refusal(str):
    """The last line of an expert that has no answer: why not, and what to do."""

    __slots__ = ()

    def __new__(cls, why: str) -> Refusal:
        """`why` behind the words by which other experts know a refusal."""
        return super().__new__(cls, why if why.startswith(NO_ANSWER) else f"{NO_ANSWER}{why}")


@dataclass(frozen=True)
class SeenStep:
    """An earlier step that a step reads: its 0-based number, its worker and its response."""

    step: int
    worker: str
    response: str

    @property
    def answer(self) -> str:
        """The answer that the response ends with, empty where it ends with none (a plan, a refusal)."""
        return answer_in(self.response) or ""

    @property
    def refusal(self) -> str | None:
        """The refusal that the response ends with, None where it ends with none."""
        last = self.response.rstrip().rpartition("\n")[2]
        return last if last.startswith(NO_ANSWER) else None

    @property
    def source(self) -> str:
        """The step as people count it, with its worker."""
        return f"step {self.step + 1} ({self.worker})"


@dataclass(frozen=True)
class Task:
    """The parts of a request that experts read."""

    query: str
    instruction: str
    seen: tuple[SeenStep, ...] = ()

    @classmethod
    def of(cls, request: Request) -> Task:
        """The task of a stored request."""
        seen = tuple(SeenStep(each.step, each.worker, each.response) for each in request.seen)
        return cls(request.query, request.instruction, seen)

    @classmethod
    def of_json(cls, sent: Mapping[str, Any]) -> Task:
        """The task that `dataclasses.asdict` wrote."""
        return cls(sent["query"], sent["instruction"], tuple(SeenStep(**each) for each in sent["seen"]))

    @property
    def asks_plan(self) -> bool:
        return bool(_PLAN.search(self.instruction))

    @property
    def asks_check(self) -> bool:
        return bool(_CHECK.search(self.instruction))

    @property
    def answers(self) -> tuple[SeenStep, ...]:
        """The visible steps that give an answer, in order."""
        return tuple(seen for seen in self.seen if seen.answer)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why visible steps have no answer, each reason once."""
        return tuple(dict.fromkeys(seen.refusal for seen in self.seen if seen.refusal))


def answer_in(response: str) -> str | None:
    """The text after the last `Answer:` of a response, or its only line; None when neither is there.

    A refusal of an expert has no answer.
    """
    if SeenStep(0, "", response).refusal:
        return None
    if found := ANSWER_LINE.findall(response):
        return str(found[-1]).rstrip().rstrip("*").strip().removesuffix(NOT_CHECKED)
    if found := ANSWER_SENTENCE.findall(response):
        return str(found[-1]).strip().removesuffix(".").strip().removesuffix(NOT_CHECKED)
    lines = response.strip().splitlines()
    return lines[0].strip() if len(lines) == 1 and len(lines[0]) <= 200 else None
