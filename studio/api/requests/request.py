"""The common part of the requests of both endpoints: types of parameters, the reading of a body, errors.

Nothing is ignored in silence: a parameter that a schema does not have is refused where it is known to change
answers (`parameters`), else named as without effect. `chat_request` and `responses_request` have the
endpoints' own parameters; `Question` is what they come down to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from conductor.planner.planner import MAX_WISH
from conductor.text.bounded_value import BoundsError, json_value
from conductor.values.conversation import Conversation
from conductor.values.message_parts.response_format import MAX_SCHEMA, ResponseFormat
from conductor.values.message_parts.token_logprobs import MAX_TOP_LOGPROBS
from conductor.values.message_parts.tools import ToolOffer
from conductor.values.messages import Effort
from conductor.values.presets import MAX_ROUNDS
from conductor.workflow.model import MAX_WRITTEN_STEPS
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.models import NAMES, WORKER
from studio.api.requests.parameters import Table, check_refused, unheeded
from studio.api.tool_names import ToolNames

MAX_MEMBERS = 256
"""Members that one object of a request may have, several times what any parameter takes."""

MAX_MESSAGES = 2_048
"""Messages of one request, as many as OpenAI takes."""

MAX_PARTS = 2_048
"""Text parts of one message."""

# -- types of parameters ---------------------------------------------------------------------------

Unsupported: TypeAlias = None
"""A parameter that may only be null."""
Tokens = Annotated[
    int,
    # Languages with one kind of number write 100.0.
    BeforeValidator(lambda count: int(count) if isinstance(count, float) and count.is_integer() else count),
    Field(ge=1),
]
Metadata = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=512)]],
    Field(max_length=16),
]

FormKind = Literal["text", "json_object", "json_schema"]
FormName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
FormDescription = Annotated[str, Field(max_length=2_000)]


class RequestPart(BaseModel):
    """Part of a request's body. Unknown parameters are refused, and so is a number written as a string."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


class EchoPart(RequestPart):
    """Part of a request, with what newer clients add to it, send back with an answer or mark a message by:
    cache marks, reasoning, ids, what a provider added. That has no effect, and `echoes` lists it, unless it
    `goes_on`.
    """

    model_config = ConfigDict(extra="allow")

    def goes_on(self, name: str, value: object) -> bool:  # noqa: ARG002
        """Whether a worker that is asked alone is sent this member."""
        return False


class LeftOut(EchoPart):
    """A part that has no effect as a whole: `echoes` lists its type."""

    type: str


class Thoughts(LeftOut):
    """What a model thought before an answer: the names are Anthropic's, Mistral's and OpenAI's."""

    type: Literal["thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_text"]

    @property
    def text(self) -> str:
        """No part of the message."""
        return ""

    @property
    def listed(self) -> str | None:
        """What of it a worker that is asked alone is not sent; None if it is sent all."""
        return None


THOUGHTS: tuple[str, ...] = get_args(Thoughts.model_fields["type"].annotation)


class Refusal(EchoPart):
    """An earlier answer that refused, or its piece."""

    type: Literal["refusal"]
    refusal: str

    @property
    def text(self) -> str:
        """The words that it refused with."""
        return self.refusal


MAX_ECHOES = 100
"""Names that are listed of one request."""

MAX_LISTED = 64
"""Characters of a name that is listed."""


def echoes(part: object, place: str, rows: Table, *, alone: bool = False) -> Iterator[str]:
    """What of a parameter has no effect, by names: `messages.reasoning_content`, `tools.web_search`. The
    `rows` have what is neutral. `alone`: it goes to a worker as it is.
    """
    if isinstance(part, tuple):
        for each in part:
            yield from echoes(each, place, rows, alone=alone)
    if isinstance(part, Thoughts):
        if (listed := part.listed if alone else part.type) is not None:
            yield f"{place}.{listed}"
    elif isinstance(part, LeftOut):
        yield f"{place}.{part.type[:MAX_LISTED]}"
    elif isinstance(part, RequestPart):
        added = {
            f"{place}.{name[:MAX_LISTED]}": value
            for name, value in (part.model_extra or {}).items()
            if not (alone and isinstance(part, EchoPart) and part.goes_on(name, value))
        }
        yield from unheeded(added, rows)
        for name in type(part).model_fields:
            yield from echoes(getattr(part, name), f"{place}.{name}", rows, alone=alone)


class RequestBudget(RequestPart):
    """The most that the request may spend: tokens, US dollars, seconds and calls."""

    tokens: Tokens | None = None
    cost: Annotated[float, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    calls: Annotated[int, Field(ge=1)] | None = None


class Steering(RequestPart):
    """The extension `conductor` of a request: how the answer is found.

    `workers` are the only workers that may be used, `exclude` those that may not. `workflow` is a document of
    the format conductor-workflow that runs as it is; with a `change` the Conductor first changes it, or the
    stored one that the model names, as these words ask. With `events` a stream also has the run's events.
    """

    workers: Annotated[tuple[str, ...], Field(fail_fast=True, min_length=1)] | None = None
    exclude: Annotated[tuple[str, ...], Field(fail_fast=True)] = ()
    max_steps: Annotated[int, Field(ge=1, le=MAX_WRITTEN_STEPS)] | None = None
    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    budget: RequestBudget = RequestBudget()
    workflow: dict[str, Any] | None = Field(default=None, description="see conductor-workflow-1.schema.json")
    change: str | None = Field(default=None, max_length=MAX_WISH, description="in words")
    events: bool = False


class NamedSchema(EchoPart):
    """A JSON Schema of the answer."""

    name: FormName
    description: FormDescription | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None

    def form(self, *, param: str) -> ResponseFormat:
        """The form that it describes. Raises `ApiError` for a schema that is too large, or has NaN in it."""
        try:
            return ResponseFormat.of_schema(
                self.schema_, name=self.name, description=self.description, strict=self.strict
            )
        except ValidationError:
            message = f"The schema is no JSON, or has more than {MAX_SCHEMA:,} characters; make it smaller."
            raise ApiError(message, param=param, code="invalid_value") from None


class StreamOptions(EchoPart):
    """What a stream contains besides the answer."""


_NO_STEERING = Steering()


@dataclass(frozen=True)
class Question:
    """What a request asks for, read from the parameters that the endpoints name differently.

    `history` has the instructions, the messages before the `query` and those that follow it. The answer has
    at most `token_limit` tokens, a limit that was given by the name `limit_parameter`, and ends before the
    first of the texts `stops`; it is sampled with the `seed` and the penalties. `effort` is how hard to
    think. The answer has the `form`, where one is asked for by the name `form_parameter`, and may call the
    `tools`. So many `answers` are asked for. With `logprobs`, by the name `logprobs_parameter`, each token is
    to have its log probability, and so many others.
    """

    query: str
    history: Conversation
    effort: Effort | None
    token_limit: int | None
    limit_parameter: str
    stops: tuple[str, ...] = ()
    form: ResponseFormat | None = None
    form_parameter: str = "response_format"
    tools: ToolOffer | None = None
    answers: int = 1
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logprobs: int | None = None
    logprobs_parameter: str = "logprobs"


class RequestBody(RequestPart):
    """The body of a request. `reasons` state why a parameter, or some of its values, is not supported;
    `refused` are the rows of those that are no fields.
    """

    reasons: ClassVar[Mapping[str, str]]
    refused: ClassVar[Table] = {}

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The request that a body contains; a byte order mark before it is skipped, as RFC 8259 allows.

        Raises `ApiError` that names the first parameter that cannot be honoured.
        """
        content = content.removeprefix(BOM_UTF8)
        try:
            json_value(content, object_pairs_hook=_object_of)
        except BoundsError as error:
            raise ApiError(f"The body cannot be read: {error}.", code="invalid_json") from None
        except ValueError:
            pass  # pydantic reports what is not JSON.
        try:
            request = cls.model_validate_json(content)
        except ValidationError as error:
            raise request_error(error, cls.reasons) from None
        check_refused(request.model_extra or {}, cls.refused)
        request.check()
        return request

    def check(self) -> None:
        """Raise `ApiError` for parameters that contradict each other."""


class ApiRequest(RequestBody, ABC):
    """A request for an answer: the parameters that both endpoints have.

    `refused` and `without_effect` are the rows of the parameters that it has no field for, and `idle` the
    fields that have no effect; the answer lists what a request asks for in vain. `query_parameter` and
    `effort_parameter` are the names of what `question` contains, for errors, and `without_logprobs` is the
    error of `top_logprobs` that stands alone.
    """

    model_config = ConfigDict(extra="allow")

    without_effect: ClassVar[Table]
    idle: ClassVar[Sequence[str]] = ("prompt_cache_key",)
    without_logprobs: ClassVar[str]
    query_parameter: ClassVar[str]
    effort_parameter: ClassVar[str]

    model: Annotated[str, Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    metadata: Metadata | None = None
    user: str | None = None
    safety_identifier: str | None = None
    store: bool | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] | None = None
    parallel_tool_calls: bool | None = None
    prompt_cache_key: str | None = None
    conductor: Steering | None = None

    def check(self) -> None:
        """Raise `ApiError` for parameters that cannot be honoured or contradict each other."""
        if self.top_logprobs and self.question.logprobs is None:
            raise ApiError(self.without_logprobs, param="top_logprobs", code="invalid_value")

    @property
    @abstractmethod
    def question(self) -> Question:
        """What is asked for."""

    @property
    def steering(self) -> Steering:
        """The extension `conductor`; null is the same as leaving it out."""
        return self.conductor or _NO_STEERING

    @property
    def worker(self) -> str | None:
        """The worker that is asked alone, by its name in the pool; None for another model."""
        return self.model.removeprefix(WORKER) if self.model.startswith(WORKER) else None

    def without_plan(self, worker: str | None) -> Self:
        """The same to the worker alone, if it is a small one: a question for a Conductor, without tools or a
        steering, as agents ask for titles. `worker` is None without such a rule.
        """
        if worker is None or self.model not in NAMES or self.conductor is not None or self.tool_names.offered:
            return self
        if self.question.history.following or not self.question.query:
            # The results of calls, or an answer's beginning.
            return self
        return self.model_copy(update={"model": f"{WORKER}{worker}"})

    @property
    def workers_effort(self) -> str | None:
        """How hard workers are to think; None if that decides how a Conductor plans."""
        planned = self.model in NAMES and self.steering.workflow is None
        return None if planned else self.question.effort

    @property
    def tags(self) -> tuple[str, ...]:
        """The session's tags, by which the request's own metadata finds it."""
        named = {"user": self.user, "safety_identifier": self.safety_identifier}
        labels = {**(self.metadata or {}), **{name: value for name, value in named.items() if value}}
        return tuple(f"{name}={value}" for name, value in labels.items())

    @property
    def names_speakers(self) -> bool:
        """Whether a message has its speaker's name."""
        history = self.question.history
        turns = (*history.turns, *history.following)
        return history.speaker is not None or any(turn.name is not None for turn in turns)

    @cached_property
    def ignored(self) -> list[str]:
        """What of this request has no effect, by the names of parameters."""
        idle = [name for name in self.idle if getattr(self, name) is not None]
        if self.parallel_tool_calls is not None and not self.tool_names.offered:
            idle.append("parallel_tool_calls")
        if self.stream_options is not None and not self.stream:
            idle.append("stream_options")
        added = unheeded(self.model_extra or {}, {**self.refused, **self.without_effect})
        alone = self.worker is not None
        parts = (echoes(part, name, self.without_effect, alone=alone) for name, part in self.echoing.items())
        names = chain(idle, (name[:MAX_LISTED] for name in added), *parts, self.idle_values)
        return list(islice(dict.fromkeys(names), MAX_ECHOES))

    @property
    def idle_values(self) -> Iterable[str]:
        """Values without effect of a parameter that has some with one."""
        return ()

    @property
    def echoing(self) -> Mapping[str, object]:
        """The parameters whose parts may have no effect, by their names."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @property
    @abstractmethod
    def tool_names(self) -> ToolNames:
        """Which functions stand for the tools that it offers."""


COMMON_REASONS = {
    "metadata": "it may have up to 16 names of at most 64 characters, each with a text of at most 512.",
}
"""Why parameters that both endpoints have are not supported, or only with one value."""

# -- errors ----------------------------------------------------------------------------------------


def _object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object. Raises `ApiError` where it has too many members, or two of one name.

    pydantic takes the last member of a name without a word, and makes an error of each unknown one.
    """
    if len(pairs) > MAX_MEMBERS:
        raise ApiError(
            f"An object of this request has {len(pairs):,} members; the limit is {MAX_MEMBERS}.",
            code="invalid_value",
        )
    members = dict(pairs)
    if len(members) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0][:200]
        raise ApiError(
            f"'{name}' stands twice in one object; take one out.", param=name, code="invalid_value"
        )
    return members


def request_error(error: ValidationError, reasons: Mapping[str, str]) -> ApiError:
    """The first fault that pydantic names, in the words of a request."""
    problems = error.errors(include_url=False, include_input=False)
    # Of the members of a union, the one that the value matches best explains most.
    problem = max(
        (one for one in problems if one["loc"][:1] == problems[0]["loc"][:1]),
        key=lambda one: (len(one["loc"]), one["type"] in ("too_short", "too_long")),
    )
    location, kind = problem["loc"], problem["type"]
    place = [*location[:1], *(part for part in location[1:] if not _is_union_member(part))]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        place.append("role")
    param = ".".join(map(str, place))
    reason = _reason([part for part in place if isinstance(part, str)], reasons)
    if kind == "json_invalid":
        return ApiError(f"The body is not JSON that can be read: {problem['msg']}.", code="invalid_json")
    if not place:
        return ApiError("The body is not a JSON object.", code="invalid_json")
    if kind == "missing":
        message = f"Missing required parameter: '{param}'."
        return ApiError(message, param=param, code="missing_required_parameter")
    if reason is not None:
        return unsupported(param, reason)
    if kind == "extra_forbidden":
        return ApiError(f"Unknown parameter: '{param[:200]}'.", param=param[:200], code="unknown_parameter")
    message = f"Invalid value for '{param}': {_in_words_of_json(problem['msg'])}."
    return ApiError(message, param=param, code="invalid_value", reason=kind)


def _reason(names: Sequence[str], reasons: Mapping[str, str]) -> str | None:
    """Why the parameter, or one that contains it, is not supported; None if the value is just wrong."""
    prefixes = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((reasons[name] for name in prefixes if name in reasons), None)


def _is_union_member(part: str | int) -> bool:
    """Whether this part of pydantic's location names a member of a union: no part of the body's path."""
    if isinstance(part, int):
        return False
    return (
        part in _UNION_MEMBERS or "[" in part or "(" in part or (part[:1].isupper() and part.isidentifier())
    )


_UNION_MEMBERS = frozenset(
    ("str", "int", "float", "bool", "none", "nullable", "constrained-str", "constrained-float",
     "system", "developer", "user", "assistant", "tool")
)  # fmt: skip


def _in_words_of_json(message: str) -> str:
    # A tuple here is an array in JSON.
    message = message.replace(" after validation", "").replace("Tuple", "array")
    return message[:1].lower() + message[1:]
