"""The built-in experts as workers: what each is, and how its lines become a stream.

Knows the worker protocol. An expert computes or looks up and never pretends to be a language model; its card
has the kind "offline". Usage is unknown, because nothing is cut into tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, get_args

from conductor.errors import WorkerError
from conductor.text.final_answer import NO_ANSWER
from conductor.values.messages import Completion, Delta, Request
from conductor.workers.offline.facts import fact_check, facts
from conductor.workers.offline.process import CALCULATOR, TIME_LIMIT
from conductor.workers.offline.questions.reading import why_unanswered
from conductor.workers.offline.questions.reply import NOT_CHECKED, reply
from conductor.workers.offline.task import Refusal, Task
from conductor.workers.offline.text import text
from conductor.workers.protocol import Worker, WorkerCard

ExpertName = Literal["mathematics", "facts", "text", "checker"]
EXPERTS: tuple[ExpertName, ...] = get_args(ExpertName)

_STRENGTHS: dict[ExpertName, str] = {
    "mathematics": "computes exactly: arithmetic, units, dates, equations, calculus; no proofs, no prose",
    "facts": "looks up capital, continent, currency and official languages of countries; nothing else",
    "text": "picks the key sentences of a text and merges the answers it sees; writes nothing of its own",
    "checker": "checks a visible answer to a calculation or a country fact by a second way",
}


@dataclass
class OfflineExpert:
    """One expert as a worker called `name`, its own name when None.

    `seconds` is how long a computation may take before it is stopped.
    """

    expert: ExpertName
    name: str | None = None
    seconds: float = TIME_LIMIT
    card: WorkerCard = field(init=False)

    def __post_init__(self) -> None:
        self.card = WorkerCard(
            name=self.name or self.expert,
            kind="offline",
            strengths=_STRENGTHS[self.expert],
            model=f"expert/{self.expert}",
        )

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """See `Worker.stream`. One delta a line; a last line that is a `Refusal` makes the answer one."""
        answer, refused = "", False
        task = Task.of(request)
        async with aclosing(self._lines(task)) as lines:
            async for each in lines:
                line = await asyncio.to_thread(_explained, each, task) if isinstance(each, Refusal) else each
                piece = f"\n{line}" if answer else line
                answer += piece
                refused = isinstance(line, Refusal)
                yield Delta(text=piece)
        yield Completion(text=answer, finish_reason="refused" if refused else "stop")

    async def _lines(self, task: Task) -> AsyncGenerator[str, None]:
        # Reading takes a while; other steps stream meanwhile.
        found = await asyncio.to_thread(self._read, task)
        if found is not None and any(line.startswith(NOT_CHECKED) for line in found):
            found = await self._checked_as_formula(task) or found
        if found is not None:
            for line in found:
                yield line
            return
        async with aclosing(CALCULATOR.lines(self.expert, task, seconds=self.seconds)) as lines:
            async for line in lines:
                yield line

    async def _checked_as_formula(self, task: Task) -> Sequence[str] | None:
        """The check of an everyday answer by reading the question as a formula, None where that verifies it
        not.
        """
        try:
            lines = [line async for line in CALCULATOR.lines("checker", task, seconds=self.seconds)]
        except WorkerError:
            return None
        return lines if any(line.startswith("Verified") for line in lines) else None

    def _read(self, task: Task) -> Sequence[str] | None:
        """The lines that need no computing process, None where it may know some."""
        looked_up = _LOOK_UP[self.expert](task)
        if looked_up is not None and not isinstance(looked_up[-1], Refusal):
            return looked_up
        return reply(self.expert, task) or looked_up


def _explained(line: Refusal, task: Task) -> Refusal:
    """A refusal to answer the query, beginning with what of it is not understood."""
    if task.seen:
        return line
    why = why_unanswered(task.query)
    reasons = (why, line.removeprefix(NO_ANSWER), "For anything else, add a model to the pool.")
    return Refusal(" ".join(filter(None, reasons)))


def offline_workers() -> tuple[Worker, ...]:
    """All experts, in the order of `EXPERTS`."""
    return tuple(map(OfflineExpert, EXPERTS))


_LOOK_UP: dict[ExpertName, Callable[[Task], Sequence[str] | None]] = {
    "facts": facts, "text": text, "checker": fact_check, "mathematics": lambda _: None,
}  # fmt: skip
"""How each finds the lines of an answer that needs no computation; None where one is needed."""
