"""A worker that calls no model, with the timing and the faults that are set.

Used by tests, benchmarks and demos; it knows no network and no model, and its card has the kind "simulated".
The same worker, seed and request always give the same text.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.protocol import WorkerCard

_WORDS = (
    "the claim holds when each part is read beside its source and no number stands alone so we "
    "compare both sides weigh what is known name what is not and keep the shorter way"
).split()


@dataclass
class SimulatedWorker:
    """Answers after `latency` seconds with `tokens` words at `tokens_per_second` (None: all at once).

    `answer` replaces the made-up text by a fixed one or by a function of the request; texts that `enqueue`
    adds come before it. Calls whose number (from 0) is in `fail_calls`, and requests whose instruction
    contains `fail_on`, raise `WorkerError` after half of the text was streamed. `requests` remembers
    everything it was sent, in order.
    """

    name: str
    strengths: str = "made-up text at a chosen pace"
    latency: float = 0.0
    tokens: int = 40
    tokens_per_second: float | None = None
    seed: int = 0
    answer: str | Callable[[Request], str] | None = None
    fail_calls: frozenset[int] = frozenset()
    fail_on: str | None = None
    requests: list[Request] = field(default_factory=list, repr=False)
    queue: deque[str] = field(default_factory=deque, repr=False)
    card: WorkerCard = field(init=False)

    def __post_init__(self) -> None:
        self.card = WorkerCard(
            name=self.name, kind="simulated", strengths=self.strengths, model=f"simulated-{self._mark()}"
        )

    def enqueue(self, *answers: str) -> None:
        """Answer the next calls with these texts, one each, in this order."""
        self.queue.extend(answers)

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        call = len(self.requests)
        self.requests.append(request)
        await asyncio.sleep(self.latency)
        contents = [message.content for message in request.messages]
        text = self.queue.popleft() if self.queue else self._text(request, contents)
        fails = call in self.fail_calls or (self.fail_on is not None and self.fail_on in request.instruction)
        pieces = [text] if self.tokens_per_second is None else _words(text)
        for piece in pieces[: len(pieces) // 2] if fails else pieces:
            if self.tokens_per_second is not None:
                await asyncio.sleep(1 / self.tokens_per_second)
            yield Delta(text=piece)
        if fails:
            raise WorkerError(f"{self.name} was set to fail on this call.")
        sent = sum(map(count_tokens, contents))
        yield Completion(text=text, usage=Usage(prompt_tokens=sent, completion_tokens=count_tokens(text)))

    def _mark(self) -> str:
        """The seed, and a short hash of what else decides the answer to a request; a function by its name."""
        answer = self.answer
        answering = ("function", _qualified_name(answer)) if callable(answer) else ("text", answer)
        deciding = repr((answering, self.tokens, self.fail_on))
        return f"{self.seed}-{sha256(deciding.encode()).hexdigest()[:6]}"

    def _text(self, request: Request, contents: Sequence[str]) -> str:
        if isinstance(self.answer, str):
            return self.answer
        if self.answer is not None:
            return self.answer(request)
        key = "\x1f".join((str(self.seed), self.name, *contents))
        seed = int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest())
        words = random.Random(seed)  # noqa: S311 - made-up text, not a secret
        return " ".join(words.choice(_WORDS) for _ in range(self.tokens))


def _words(text: str) -> list[str]:
    first, *others = text.split(" ")
    return [first, *(f" {word}" for word in others)]


def count_tokens(text: str) -> int:
    """What simulated workers take for tokens: stretches between spaces."""
    return text.count(" ") + 1


def _qualified_name(answer: Callable[[Request], str]) -> str:
    """A function's module and name; of any other callable, its type's."""
    named = answer if hasattr(answer, "__qualname__") else type(answer)
    return f"{named.__module__}.{named.__qualname__}"
