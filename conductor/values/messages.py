"""The request to a worker and its answer: values only.

Knows nothing of workflows, pools or transports. A message is made of parts, so that a stored request shows
which words came from which step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field

from conductor.text.json_text import portable
from conductor.values.message_parts.images import Image
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.token_logprobs import MAX_TOP_LOGPROBS, TokenLogprob
from conductor.values.message_parts.tools import ToolCall, ToolOffer
from conductor.values.portable_model import PortableModel


class Value(PortableModel):
    """A frozen, validated value of portable texts; unknown fields are refused."""


Number = TypeVar("Number", int, float)


def _is_none(value: object) -> bool:
    return value is None


MAX_SEED = 2**63 - 1

FINE_SAMPLING = ("seed", "top_p", "frequency_penalty", "presence_penalty", "reasoning_effort")
"""Parameters that shape an answer a little, and are left out for a worker that takes none."""


Effort = Annotated[str, Field(min_length=1, max_length=64)]
"""How hard a model is to think, in a word that its endpoint knows."""


class Sampling(Value):
    """A step's or worker's sampling parameters; None leaves the choice to the worker.

    `response_format` is the form that the answer is to have, `tools` are what it may call. With `logprobs`
    the worker is asked how probable its tokens are, and so many others at each place. Beside the first two,
    what is not set is not written, so that fingerprints are those from before it could be set.
    """

    temperature: float | None = Field(default=None, ge=0, le=2, strict=True)
    max_tokens: int | None = Field(default=None, ge=1, strict=True)
    seed: int | None = Field(default=None, ge=-MAX_SEED - 1, le=MAX_SEED, strict=True, exclude_if=_is_none)
    top_p: float | None = Field(default=None, ge=0, le=1, strict=True, exclude_if=_is_none)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2, strict=True, exclude_if=_is_none)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2, strict=True, exclude_if=_is_none)
    reasoning_effort: Effort | None = Field(default=None, exclude_if=_is_none)
    response_format: ResponseFormat | None = Field(default=None, exclude_if=_is_none)
    tools: ToolOffer | None = Field(default=None, exclude_if=_is_none)
    logprobs: int | None = Field(default=None, ge=0, le=MAX_TOP_LOGPROBS, strict=True, exclude_if=_is_none)

    @property
    def unset(self) -> bool:
        # Without pydantic's own iteration, which takes three times as long: every step asks twice.
        return all(value is None for value in self.__dict__.values())

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by name."""
        return {name: value for name, value in self if value is not None}

    @property
    def words(self) -> tuple[str, ...]:
        """The parameters that are set, for people."""
        rest = tuple(value.words for value in (self.response_format, self.tools) if value is not None)
        single = {
            name: value for name, value in self.parameters.items() if isinstance(value, int | float | str)
        }
        logprob_words = () if single.pop("logprobs", None) is None else ("log probabilities",)
        named = (
            f"{name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
            for name, value in single.items()
        )
        return (*named, *rest, *logprob_words)

    def over(self, defaults: Sampling) -> Sampling:
        """These parameters, and `defaults` where they leave one open."""
        if self.unset:
            return defaults
        return defaults.model_copy(update=self.parameters)


def _renamed(style: object) -> object:
    return "research" if style == "paper" else style


ONCE_PAPER = BeforeValidator(_renamed)
"""Reads the name that stored workflows and older pool files have for the style `research`."""

RequestStyle = Annotated[Literal["ours", "research", "moa"], ONCE_PAPER]
"""How a step's request is laid out: ours; as in the research code, for checkpoints trained on that; or as in
Mixture-of-Agents, the question as it is, and what the step sees as a numbered list in the system message."""


class Usage(Value):
    """Tokens of one call and what they cost in US dollars. None means unknown, which is not zero.

    `cached_tokens` are those of the prompt that the provider read from its cache. `least_cost` is set where
    `cost` is an upper bound, because the price of cached tokens is unknown. `reported_total` and
    `reported_cost` are the endpoint's own sum of the tokens and its own dollars, which `cost` then is.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    cached_tokens: int | None = Field(default=None, exclude_if=_is_none)
    least_cost: float | None = Field(default=None, exclude_if=_is_none)
    reported_total: int | None = Field(default=None, exclude_if=_is_none)
    reported_cost: float | None = Field(default=None, exclude_if=_is_none)

    @property
    def nothing(self) -> bool:
        """Whether it is just `NOTHING_USED`; looks at fields alone, which is done with each call."""
        return self.prompt_tokens == 0 and self.completion_tokens == 0 and self.cost == 0.0

    @property
    def total(self) -> int | None:
        """Prompt and completion tokens together, None when either is unknown."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        """The usage of both, without what was reported of one call; that of no call adds nothing."""
        if self is NOTHING_USED:
            return other
        bounded = self.least_cost is not None or other.least_cost is not None
        return Usage(
            prompt_tokens=_sum(self.prompt_tokens, other.prompt_tokens),
            completion_tokens=_sum(self.completion_tokens, other.completion_tokens),
            cost=_sum(self.cost, other.cost),
            cached_tokens=_sum(self.cached_tokens, other.cached_tokens),
            least_cost=_sum(self._least, other._least) if bounded else None,
        )

    @property
    def _least(self) -> float | None:
        return self.cost if self.cost is None or self.least_cost is None else self.least_cost


NOTHING_USED = Usage(prompt_tokens=0, completion_tokens=0, cost=0.0)
"""The usage of no call at all, from which sums start."""


def _sum(left: Number | None, right: Number | None) -> Number | None:
    return None if left is None or right is None else left + right


PartKind = Literal["frame", "system", "turn", "query", "subtask", "response", "instruction"]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a message and where it came from.

    `frame` is our own wording; `system` what the answer must follow and `turn` an earlier message, where
    the question is part of a conversation; `query` the user's question; `subtask` and `response` belong to
    the visible step `step` (0-based) done by `worker`, of an earlier round where `round` is set (from 1);
    `instruction` is the receiving step's own task. `by_hand` marks a response that a person wrote. A
    dataclass, because a request has a dozen of them and each step makes a request.
    """

    kind: PartKind
    text: str
    step: int | None = None
    worker: str | None = None
    round: int | None = None
    by_hand: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", portable(self.text))
        if self.worker is not None:
            object.__setattr__(self, "worker", portable(self.worker))


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; its content is its parts' texts one after another.

    An assistant's message may have `tool_calls`; a tool's is the result of the call `tool_call_id`. `name` is
    the speaker's, where the client gives one. `images` stand in the content, each at its place. `thoughts`
    are further members of an assistant's message, as JSON text (see `opaque`).
    """

    # Dataclasses, as `Part` is one, are made in half the time; unknown fields are refused all the same.
    __pydantic_config__ = Value.model_config

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[Part, ...]
    tool_calls: Annotated[tuple[ToolCall, ...], Field(exclude_if=lambda calls: not calls)] = ()
    tool_call_id: Annotated[str | None, Field(exclude_if=_is_none)] = None
    name: Annotated[str | None, Field(exclude_if=_is_none)] = None
    images: Annotated[tuple[Image, ...], Field(exclude_if=lambda images: not images)] = ()
    thoughts: Annotated[str | None, Field(exclude_if=_is_none)] = None

    @property
    def content(self) -> str:
        return "".join([part.text for part in self.parts])


@dataclass(frozen=True, slots=True)
class SeenResponse:
    """A step's work as a step that may read it sees it; `step` is 0-based, `round` set for an earlier
    round's.

    `by_hand`: a person wrote the response. A dataclass, as `Part` is one.
    """

    # Read again where a value takes one, which makes its texts portable.
    __pydantic_config__ = ConfigDict(extra="forbid", revalidate_instances="always")

    step: int
    worker: str
    instruction: str
    response: str
    round: int | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """Exactly what a worker is sent. Stored as it is when it is sent."""

    __pydantic_config__ = Value.model_config

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()

    @property
    def query(self) -> str:
        """The user's question as it is in the request ("" when there is none)."""
        return self._text("query")

    @property
    def instruction(self) -> str:
        return self._text("instruction")

    @property
    def seen(self) -> tuple[SeenResponse, ...]:
        parts = [part for message in self.messages for part in message.parts]
        subtasks = {(part.round, part.step): part.text for part in parts if part.kind == "subtask"}
        return tuple(
            SeenResponse(
                step=part.step,
                worker=part.worker or "",
                instruction=subtasks.get((part.round, part.step), ""),
                response=part.text,
                round=part.round,
                by_hand=part.by_hand,
            )
            for part in parts
            if part.kind == "response" and part.step is not None
        )

    @property
    def written(self) -> tuple[str, ...]:
        """All that a worker is sent to read: contents, calls of tools, and the tools that are offered."""
        return written(self.messages, self.sampling)

    def _text(self, kind: PartKind) -> str:
        return "".join(p.text for message in self.messages for p in message.parts if p.kind == kind)


def written(messages: Sequence[Message], sampling: Sampling) -> tuple[str, ...]:
    """The texts that a worker is sent to read: contents, calls of tools, and the tools that are offered."""
    calls = [call.name + call.arguments for message in messages for call in message.tool_calls]
    tools = [] if sampling.tools is None else [tool.model_dump_json() for tool in sampling.tools.tools]
    return (*(message.content for message in messages), *calls, *tools)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed answer; joined they are the completion's text. Never stored; there are many.

    `logprobs` are those of the tokens that came with it, where they were asked for.
    """

    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a call of a tool: of the arguments of the call at `index`, which count from 0.

    The first piece of a call has its id and its name, which the others lack, and its `extra` as far as that
    came (see `ToolCall`). Never stored, as `Delta`.
    """

    index: int
    text: str
    id: str | None = None
    name: str | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of a model's reasoning, separate from its answer. Pieces joined give `reasoning`.

    `recalls`: so many characters that came last as the answer were reasoning, too, and come before it.
    `members` are the names of those of its message that are this text.
    """

    text: str
    recalls: int = 0
    members: tuple[str, ...] = ()


class Retried(Value):
    """Attempt `attempt` (from 1) gave no answer, for the reason in `message`; called again after `seconds`,
    or not `again`: something else stands in.

    `withdrawn` is how many characters of text and reasoning it had given: they no longer count. `used` is
    what a withdrawn answer that was whole had cost, None if none had come to its end.
    """

    attempt: int
    message: str
    seconds: float
    withdrawn: int = 0
    used: Usage | None = None
    again: bool = True


FinishReason = Literal["stop", "length", "refused", "tool_calls", "other"]
"""Why an answer ends: it is complete, no tokens were left, its worker declined to answer, it calls tools
whose results its worker is to be sent, or unknown."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of a stream: the whole text, the reasoning separate from it, and what it cost.

    `request_id` is the provider's name of the call, or None. `tool_calls` are those that the
    client is to make. `logprobs` are those of the text's tokens, where they were asked for and given.
    `left_out` are the parameters that were set, and that the endpoint was asked without. `thoughts` are the
    members of the message that have the reasoning, as JSON text (see `opaque`).
    """

    text: str
    reasoning: str = ""
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    request_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    left_out: tuple[str, ...] = ()
    thoughts: str | None = None

    @property
    def written(self) -> str:
        """All that was written beside the reasoning, to be counted."""
        return "".join([self.text, *(call.name + call.arguments for call in self.tool_calls)])
