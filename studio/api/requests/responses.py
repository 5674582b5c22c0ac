"""A request to `/v1/responses`: the parameters, and the values of them that are honoured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from conductor.values.conversation import Conversation, Turn
from conductor.values.response_format import ResponseFormat
from studio.access.errors import ApiError
from studio.api.errors import unsupported
from studio.api.requests.request import (
    COMMON_REASONS,
    MAX_MESSAGES,
    MAX_PARTS,
    ApiRequest,
    Effort,
    EmptyList,
    FormDescription,
    FormKind,
    FormName,
    NamedSchema,
    Question,
    RequestPart,
    Tokens,
    Unsupported,
)


class InputText(RequestPart):
    """A piece of a message's text."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: EmptyList = None
    logprobs: EmptyList = None


class InputMessage(RequestPart):
    """A message; the parameters that clients send back with an answer may be there."""

    type: Literal["message"] | None = None
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[tuple[InputText, ...], Field(fail_fast=True, max_length=MAX_PARTS)]
    id: str | None = None
    status: str | None = None
    phase: str | None = None

    @property
    def turn(self) -> Turn:
        content = self.content
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        return Turn(role="system" if self.role == "developer" else self.role, text=text)


def _kind(item: object) -> str:
    kind = item.get("type") if isinstance(item, dict) else "message"
    return "message" if kind in (None, "message") else "item"


class OtherItem(RequestPart):
    """Calls of tools, their results and the like: refused."""

    type: Literal["message"]


InputItem = Annotated[
    Annotated[InputMessage, Tag("message")] | Annotated[OtherItem, Tag("item")], Discriminator(_kind)
]


class Reasoning(RequestPart):
    """How hard to think."""

    effort: Effort | None = None
    summary: Unsupported = None
    generate_summary: Unsupported = None


class TextFormat(RequestPart):
    """The form of the answer; all but the type belong to `json_schema`."""

    type: FormKind
    name: FormName | None = None
    description: FormDescription | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None

    @property
    def form(self) -> ResponseFormat | None:
        """The form, None for text. Raises `ApiError` for a schema that is too large."""
        if self.name is not None and self.schema_ is not None:
            named = NamedSchema(
                name=self.name, description=self.description, schema=self.schema_, strict=self.strict
            )
            return named.form(param="text.format.schema")
        return ResponseFormat(type="json_object") if self.type == "json_object" else None

    def check(self) -> None:
        """Raise `ApiError` where a schema or its name is missing, or stands beside another type."""
        given = {"name": self.name, "schema": self.schema_}
        for name, value in {**given, "description": self.description, "strict": self.strict}.items():
            if (value is not None and self.type != "json_schema") or (
                value is None and self.type == "json_schema" and name in given
            ):
                message = "Invalid value for 'text.format': a name and a schema belong to json_schema."
                raise ApiError(message, param=f"text.format.{name}", code="invalid_value")


class Text(RequestPart):
    """The form of the answer."""

    format: TextFormat | None = None
    verbosity: Literal["medium"] | None = None


_REASONS = {
    **COMMON_REASONS,
    "tools": "tools can be offered in /v1/chat/completions.",
    "tool_choice": 'there are no tools to choose from; only "none" and "auto" mean anything.',
    "reasoning.summary": "the run contains the workers' reasoning; open its link.",
    "reasoning.generate_summary": "the run contains the workers' reasoning; open its link.",
    "reasoning.effort": "give one of minimal, low, medium, high, xhigh and max.",
    "text.verbosity": 'request the length of the answer in a message; only "medium" changes nothing.',
    "truncation": 'nothing is left out of a conversation; only "disabled" is possible.',
    "include": "the answer's object 'conductor' has all further data.",
    "background_options": "what goes on in the background has no options here.",
    "conversation": "give previous_response_id, or the messages themselves.",
    "prompt": "no prompts are stored here; give the messages themselves.",
    "context_management": "nothing is left out of a conversation.",
    "access_programs": "there are none here.",
    "image": "an answer is text.",
    "input.type": "items are messages; there are no calls of tools.",
    "input.content.type": "messages are text; there are no pictures, sounds and files.",
    "input.content.annotations": "messages are plain text.",
    "input.content.logprobs": COMMON_REASONS["top_logprobs"],
}


class ResponsesRequest(ApiRequest):
    """The user's question, alone or as the last of several messages, and how its answer is found."""

    reasons: ClassVar[Mapping[str, str]] = _REASONS
    without_effect = (
        "parallel_tool_calls", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention",
    )  # fmt: skip
    query_parameter = "input"
    effort_parameter = "reasoning.effort"

    input: (
        str | Annotated[tuple[InputItem, ...], Field(fail_fast=True, min_length=1, max_length=MAX_MESSAGES)]
    )
    instructions: str | None = None
    previous_response_id: str | None = None
    tools: EmptyList = None
    tool_choice: Literal["none", "auto"] | None = None
    max_output_tokens: Tokens = None
    reasoning: Reasoning | None = None
    text: Text | None = None
    truncation: Literal["disabled"] | None = None
    max_tool_calls: int | None = None
    include: EmptyList = None
    background: bool | None = None
    background_options: Unsupported = None
    conversation: Unsupported = None
    prompt: Unsupported = None
    context_management: Unsupported = None
    access_programs: Unsupported = None
    image: Unsupported = None

    def check(self) -> None:
        if isinstance(self.input, tuple):
            last = self.input[-1]
            if not isinstance(last, InputMessage) or last.role != "user":
                where = f"input.{len(self.input) - 1}.role"
                raise ApiError("The last message must be the user's.", param=where, code="invalid_value")
        if self.text is not None and self.text.format is not None:
            self.text.format.check()
        if self.background and self.store is False:
            raise unsupported("background", "what goes on without its client is found in the store.")
        super().check()

    @cached_property
    def question(self) -> Question:
        asked = [Turn(role="user", text=self.input)] if isinstance(self.input, str) else self._turns
        earlier = tuple(turn for turn in asked[:-1] if turn.text)
        return Question(
            query=asked[-1].text,
            history=Conversation(instructions=self.instructions or "", turns=earlier),
            effort=None if self.reasoning is None else self.reasoning.effort,
            token_limit=self.max_output_tokens,
            limit_parameter="max_output_tokens",
            form=self.form,
            form_parameter="text.format",
        )

    @property
    def form(self) -> ResponseFormat | None:
        """The form of the answer, None for text."""
        return None if self.text is None or self.text.format is None else self.text.format.form

    @property
    def _turns(self) -> list[Turn]:
        return [item.turn for item in self.input if isinstance(item, InputMessage)]
