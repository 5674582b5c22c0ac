"""The built-in experts as workers: what each is, and how its lines become a stream.

Knows the worker protocol. An expert computes or looks up and never pretends to be a language model; its card
has the kind "offline". Usage is unknown, because nothing is cut into tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, get_args

from conductor.values.messages import Completion, Delta, Request
from conductor.workers.offline.facts import fact_check, facts
from conductor.workers.offline.process import TIME_LIMIT, calculator
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


def offline_expert(expert: ExpertName, *, name: str | None = None) -> Worker:
    """The built-in expert as a worker called `name` (its own name when None)."""
    return OfflineExpert(expert, name=name or expert)


def offline_workers() -> tuple[Worker, ...]:
    """All experts, in the order of `EXPERTS`."""
    return tuple(offline_expert(expert) for expert in EXPERTS)


@dataclass
class OfflineExpert:
    """One expert. `seconds` is how long a computation may take before it is stopped."""

    expert: ExpertName
    name: str
    seconds: float = TIME_LIMIT
    card: WorkerCard = field(init=False)

    def __post_init__(self) -> None:
        self.card = WorkerCard(
            name=self.name,
            kind="offline",
            strengths=_STRENGTHS[self.expert],
            model=f"expert/{self.expert}",
        )

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """See `Worker.stream`. One delta a line; a last line that is a `Refusal` makes the answer one."""
        answer, refused = "", False
        async with aclosing(self._lines(Task.of(request))) as lines:
            async for line in lines:
                piece = f"\n{line}" if answer else line
                answer += piece
                refused = isinstance(line, Refusal)
                yield Delta(text=piece)
        yield Completion(text=answer, finish_reason="refused" if refused else "stop")

    async def _lines(self, task: Task) -> AsyncGenerator[str, None]:
        # Long texts take a while to read; other steps stream meanwhile.
        known = await asyncio.to_thread(self._looked_up, task)
        if known is not None:
            for line in known:
                yield line
            return
        computed = calculator().lines(self.expert, task, seconds=self.seconds)
        async with aclosing(computed) as lines:
            async for line in lines:
                yield line

    def _looked_up(self, task: Task) -> Sequence[str] | None:
        """The lines of an answer that needs no computation, None when it needs one."""
        match self.expert:
            case "facts":
                return facts(task)
            case "text":
                return text(task)
            case "checker":
                return fact_check(task)
            case "mathematics":
                return None
