"""The task of a worker that computes, the answers that it may see, and how it declines. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conductor.text.final_answer import NO_ANSWER, labelled_answer, without_ask

if TYPE_CHECKING:
    from conductor.values.messages import Request


class Refusal(str):
    """The last line of a worker that has no answer: why not, and what to do."""

    __slots__ = ()

    def __new__(cls, why: str) -> Refusal:
        """`why` behind the words by which a refusal is known."""
        return super().__new__(cls, why if why.startswith(NO_ANSWER) else f"{NO_ANSWER}{why}")


@dataclass(frozen=True)
class SeenStep:
    """An earlier step that a step reads: its 0-based number, its worker and its response."""

    step: int
    worker: str
    response: str

    @property
    def answer(self) -> str:
        """The answer that the response ends with, empty for a plan or a refusal."""
        return answer_in(self.response) or ""

    @property
    def refused(self) -> bool:
        """Whether the response ends with a refusal."""
        return self.response.rstrip().rpartition("\n")[2].startswith(NO_ANSWER)

    @property
    def source(self) -> str:
        """The step as people count it, with its worker."""
        return f"step {self.step + 1} ({self.worker})"


@dataclass(frozen=True)
class Task:
    """The parts of a request that such a worker reads."""

    query: str
    instruction: str
    seen: tuple[SeenStep, ...] = ()

    @classmethod
    def of(cls, request: Request) -> Task:
        """The task of a stored request."""
        seen = tuple(SeenStep(each.step, each.worker, each.response) for each in request.seen)
        return cls(without_ask(request.query), request.instruction, seen)

    @property
    def answers(self) -> tuple[SeenStep, ...]:
        """The visible steps that give an answer, in order."""
        return tuple(seen for seen in self.seen if seen.answer)


def answer_in(response: str) -> str | None:
    """The text after the last `Answer:` of a response, or its only line; None for a refusal or a longer text
    without an answer.
    """
    if SeenStep(0, "", response).refused:
        return None
    if (answer := labelled_answer(response)) is not None:
        return answer
    lines = response.strip().splitlines()
    return lines[0].strip() if len(lines) == 1 and len(lines[0]) <= 200 else None
