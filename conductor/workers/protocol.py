"""What the engine asks of a worker: a card, and an async stream of items ending in a completion.

Knows messages and events only. A worker raises `WorkerError` for whatever keeps it from answering; it is
stopped by closing its stream, and frees what it holds then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Literal, Protocol

from conductor.events import Event
from conductor.messages import Completion, Delta, Request, Retried, Sampling, Thought, Usage, Value
from conductor.output import WorkerKind

PromptStyle = Literal["ours", "paper"]
"""How a request is laid out: ours, or as in the research code, for checkpoints trained on that."""

_MILLION = 1_000_000


class Price(Value):
    """US dollars a million tokens."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> float | None:
        """What a call cost; None when its tokens are unknown."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        spent = usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion
        return spent / _MILLION


class WorkerCard(Value):
    """What is known of a worker without asking it anything.

    `strengths` is the one line a Conductor reads. `model` is the served model's name, for an expert or a
    fake its kind of skill. `takes_sampling` says whether sampling parameters mean anything to it.
    `context` is how many tokens a call may hold, `endpoint` the base URL of a served model (never with a
    key in it), `fallback` the worker that stands in for it. `tokenizer` is the path of its `tokenizer.json`,
    where that is known. `parameters` is what else decides its answers.
    `nested` workers do a step by a workflow of their own, whose calls are counted inside.
    """

    name: str
    kind: WorkerKind
    strengths: str
    model: str
    sampling: Sampling = Sampling()
    takes_sampling: bool = False
    prompt_style: PromptStyle = "ours"
    price: Price | None = None
    context: int | None = None
    endpoint: str | None = None
    fallback: str | None = None
    tokenizer: str | None = None
    parameters: str = ""
    nested: bool = False

    # Not kept: a copy of a card would have it as well, whatever differs in the copy.
    @property
    def identity(self) -> str:
        """Text that differs where two workers may answer the same request differently."""
        deciding = (self.kind, self.model, self.name, self.sampling.model_dump_json())
        if self.endpoint is None and not self.parameters:
            return "\x1f".join(deciding)
        return "\x1f".join((*deciding, self.endpoint or "", self.parameters, self.fallback or ""))

    def priced(self, completion: Completion) -> Completion:
        """The completion with what it cost, where the price is known."""
        if self.price is None:
            return completion
        usage = completion.usage.model_copy(update={"cost": self.price.of(completion.usage)})
        return replace(completion, usage=usage)


class FellBack(Value):
    """From here on `worker` answers in the place of the one that was asked, for the reason in `message`."""

    worker: str
    worker_kind: WorkerKind
    message: str


class Inner(Value):
    """Something happened in the workflow with which a Conductor, as a worker, does its step."""

    event: Event


StreamItem = Delta | Thought | Retried | FellBack | Inner | Completion


class Worker(Protocol):
    """A worker of the pool."""

    @property
    def card(self) -> WorkerCard:
        """Who this is."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Answer `request`: any number of other items, then one completion with the whole text.

        Raises `WorkerError` when there is no answer.
        """
        ...
