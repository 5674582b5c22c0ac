"""The protocol of a worker: a card, and an async stream of items ending in a completion.

Knows messages and events only. A worker raises `WorkerError` where it cannot answer. Closing its stream stops
it, where the stream has an `aclose`, as generators have; the worker then frees its resources.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Collection, Mapping
from dataclasses import replace
from typing import Annotated, Literal, Protocol, TypeVar, runtime_checkable

from conductor.drawing.marks import Colour
from conductor.runs.events import Event
from conductor.values.message_parts.tool_use import ToolQuestion, ToolRequest, ToolTurn, ToolUse
from conductor.values.messages import (
    ONCE_PAPER,
    CallDelta,
    Completion,
    Delta,
    Message,
    Request,
    Retried,
    Sampling,
    Thought,
    Usage,
    Value,
)
from conductor.values.output import WorkerKind
from conductor.workers.wording.wording import Wording

PromptStyle = Annotated[Literal["ours", "research"], ONCE_PAPER]
"""How a request is laid out: ours, or as in the research code, for checkpoints trained on that."""

_MILLION = 1_000_000
T = TypeVar("T")


class Price(Value):
    """US dollars a million tokens; `cached` for those of a prompt that the provider reads from its cache."""

    prompt: float
    completion: float
    cached: float | None = None

    def times(self, share: float) -> Price:
        """The price of calls that cost this share of it."""
        return Price(
            prompt=share * self.prompt,
            completion=share * self.completion,
            cached=None if self.cached is None else share * self.cached,
        )

    def of(self, usage: Usage) -> float | None:
        """What a call cost; None when its tokens are unknown. Cached tokens of unknown number or price cost
        what others of the prompt do.
        """
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        spent = usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion
        if self.cached is not None and usage.cached_tokens is not None:
            spent -= min(usage.cached_tokens, usage.prompt_tokens) * (self.prompt - self.cached)
        return spent / _MILLION


class WorkerCard(Value):
    """What is known of a worker without a call.

    `strengths` is the one line a Conductor reads. `model` is the served model's name, for an expert or a
    fake its kind of skill. `takes_sampling`: sampling parameters have an effect. `takes_form`: it answers in
    the form that a request's sampling names, or fails. `takes_tools`: it may call the tools of a request's
    sampling. `takes_logprobs`: it may give the log probabilities of its tokens. `vision`: it sees the images
    of a request. `wording` holds the texts of the style `research`, where they are not ours. `context` is
    how many tokens a call may hold, `endpoint` the base URL of a served model (never with a key in it),
    `fallback` the worker that answers where it fails, `tools` the tools of servers that it may call, as the
    pool file names them. `tokenizer` is the path of its `tokenizer.json`, where
    that is known. `parameters` is what else decides its answers. `unusable` is the reason why it cannot be
    called with the present settings, None if none is known. `nested` workers do a step by an inner
    workflow, whose calls are counted one by one. `colour` is the one that was chosen for its mark.
    """

    name: str
    kind: WorkerKind
    strengths: str
    model: str
    sampling: Sampling = Sampling()
    takes_sampling: bool = False
    takes_form: bool = False
    takes_tools: bool = False
    takes_logprobs: bool = False
    vision: bool = False
    prompt_style: PromptStyle = "ours"
    wording: Wording | None = None
    price: Price | None = None
    context: int | None = None
    endpoint: str | None = None
    fallback: str | None = None
    tools: tuple[str, ...] = ()
    tokenizer: str | None = None
    parameters: str = ""
    nested: bool = False
    colour: Colour | None = None
    unusable: str | None = None

    def refusal(self, sampling: Sampling) -> str | None:
        """Why it cannot answer in the form, call the tools or give the log probabilities that are asked for,
        without a full stop; None if it can.
        """
        what = "is simulated and calls no model" if self.kind == "simulated" else "is no model of an endpoint"
        if sampling.response_format is not None and not self.takes_form:
            return f"{self.name} {what}, so it cannot answer with {sampling.response_format.words}"
        if sampling.tools is not None and not self.takes_tools:
            return f"{self.name} {what}, so it cannot call the {sampling.tools.words}"
        if sampling.logprobs is not None and not self.takes_logprobs:
            return f"{self.name} {what}, so its answer has no log probabilities"
        return None

    # Not cached: a copy of a card would have the cached value as well, whatever differs in the copy.
    @property
    def identity(self) -> str:
        """Text that differs where two workers may answer the same request differently."""
        deciding = (self.kind, self.model, self.name, self.sampling.model_dump_json())
        if self.endpoint is None and not self.parameters:
            return "\x1f".join(deciding)
        return "\x1f".join((*deciding, self.endpoint or "", self.parameters))

    def priced(self, item: T) -> T:
        """The item of a stream; one that reports a usage with what that cost, where that is known."""
        if isinstance(item, Completion):
            return replace(item, usage=self.cost_of(item.usage))
        if isinstance(item, Retried) and item.used is not None:
            return item.model_copy(update={"used": self.cost_of(item.used)})
        return item

    def cost_of(self, usage: Usage) -> Usage:
        """The usage with what it cost: the endpoint's own dollars, else the price's, where there is one.

        Without a price of cached tokens these are an upper bound, and the lower one has them at 0.
        """
        cost, least = usage.reported_cost, None
        if cost is None:
            if self.price is None:
                return usage
            cost = self.price.of(usage)
            if usage.cached_tokens and self.price.cached is None:
                least = self.price.model_copy(update={"cached": 0.0}).of(usage)
        return usage.model_copy(update={"cost": cost, "least_cost": None if least == cost else least})


def line_of(worker: str, cards: Mapping[str, WorkerCard]) -> tuple[str, ...]:
    """The names of a worker and of its fallbacks in the pool, in the order in which they are called; `cards`
    are the pool's by name.
    """
    names: dict[str, None] = {}
    name: str | None = worker
    while name is not None and name not in names:
        names[name] = None
        card = cards.get(name)
        name = None if card is None else card.fallback
    return tuple(names)


class FellBack(Value):
    """From here on `worker` answers in the place of the called one, for the reason in `message`; `request` is
    what it is sent. `used` is what the called one took all the same, None if that is unknown.
    """

    worker: str
    worker_kind: WorkerKind
    message: str
    request: Request
    used: Usage | None = None


class ToolsOffered(Value):
    """The worker has tools of its own; `request` is what it is sent, with them."""

    request: Request


class ToolsCalled(Value):
    """The worker's answer calls tools of its own, so its request has ended and took `used`. `text` and
    `reasoning` are the answer so far, which came in pieces; `answer` is the message with the calls.
    """

    calls: tuple[ToolRequest, ...]
    answer: Message
    used: Usage
    text: str = ""
    reasoning: str = ""


class ToolsReturned(Value):
    """What the tools answered; `request`, which has that, is what the worker is sent next."""

    uses: tuple[ToolUse, ...]
    request: Request


class ToolsHeld(Value):
    """None of the calls is made before a person has answered these questions: the last item of its stream."""

    questions: tuple[ToolQuestion, ...]


class ToolsContinued(Value):
    """The worker goes on where an answer before stood: the first item of its stream."""

    turn: ToolTurn


class Inner(Value):
    """Something happened in the workflow with which a Conductor, as a worker, does its step."""

    event: Event


ToolItem = ToolsOffered | ToolsCalled | ToolsReturned | ToolsHeld | ToolsContinued

WorkerNote = Retried | FellBack | ToolItem
"""What a worker reports of its requests."""

StreamItem = Delta | Thought | CallDelta | WorkerNote | Inner | Completion


class Worker(Protocol):
    """A worker of the pool."""

    @property
    def card(self) -> WorkerCard: ...

    def stream(self, request: Request) -> AsyncIterable[StreamItem]:
        """Answer `request`: any number of other items, then one completion with the whole text.

        Any async iterable will do; nothing after the completion is read.
        Raises `WorkerError` when there is no answer.
        """
        ...


@runtime_checkable
class CallsOthers(Protocol):
    """A worker that calls workers of the pool."""

    def only(self, names: Collection[str]) -> Worker:
        """The same that calls only those of these names beside itself. Raises `PoolError` if it could do
        nothing then.
        """
        ...


@runtime_checkable
class RunsWorkflows(Protocol):
    """A worker that does a step by a workflow of its own."""

    def without_tools(self) -> Worker:
        """The same, none of whose steps calls a tool."""
        ...
