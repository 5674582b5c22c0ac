"""The orchard's workers: their cards, and how their lines become an answer.

Knows the worker protocol. They stand for models in a world of their own, and so their kind is "simulated",
although all but the generalist compute what they answer. Their tokens are counted as those of other simulated
workers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from conductor.values.messages import Completion, Delta, Request, Usage
from conductor.workers.orchard.skills import SKILLS
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import count_tokens
from conductor.workers.task import Refusal, Task

_STRENGTHS: Mapping[str, str] = {
    "facts": "looks up one fact of one country: capital, currency, continent, or whose capital it is",
    "letters": "counts the letters of visible answers or of a word in quotes",
    "solver": "computes a sum, also with the previous result; slips in half of the long ones",
    "checker": "checks a visible answer to a sum or a fact, and corrects it",
    "generalist": "knows half of the orchard's questions by itself, else repeats what most others answer",
    "text": "merges the answers it sees; writes nothing of its own",
}


@dataclass
class OrchardWorker:
    """One worker, by the name of its skill. See `Worker` for the protocol."""

    skill: str
    card: WorkerCard = field(init=False)

    def __post_init__(self) -> None:
        self.card = WorkerCard(
            name=self.skill,
            kind="simulated",
            strengths=_STRENGTHS[self.skill],
            model=f"orchard/{self.skill}",
        )

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion]:
        """The whole answer at once, with its tokens."""
        lines = SKILLS[self.skill](Task.of(request))
        prompt_tokens = sum(count_tokens(message.content) for message in request.messages)
        text = "\n".join(lines)
        yield Completion(
            text=text,
            usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=count_tokens(text)),
            finish_reason="refused" if isinstance(lines[-1], Refusal) else "stop",
        )


def orchard_workers() -> tuple[OrchardWorker, ...]:
    """All of them, in the order in which a Conductor numbers them."""
    return tuple(map(OrchardWorker, SKILLS))
