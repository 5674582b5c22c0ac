"""A request to `/v1/chat/completions`: the parameters, and the values of them that are honoured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag

from conductor.files.file_text import FileReader
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.images import Detail
from conductor.values.message_parts.opaque import is_opaque, opaque
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.tools import MAX_TOOLS, ToolOffer
from conductor.values.messages import MAX_SEED, Effort
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.requests.content import FileData, ImageUrl, Piece, content_of
from studio.api.requests.parameters import CHAT_REFUSED, CHAT_WITHOUT_EFFECT
from studio.api.requests.request import (
    COMMON_REASONS,
    MAX_MESSAGES,
    MAX_PARTS,
    THOUGHTS,
    ApiRequest,
    EchoPart,
    FormKind,
    Metadata,
    NamedSchema,
    Question,
    Refusal,
    RequestBody,
    StreamOptions,
    Thoughts,
    Tokens,
    Unsupported,
)
from studio.api.requests.tool_definitions import Tools, shapes_of
from studio.api.requests.tool_offer import TOOL_REASONS, Choice, offer
from studio.api.requests.tools import AnyMessageCall, CallIds, check_calls
from studio.api.tool_names import ToolNames


class TextPart(EchoPart):
    """A piece of a message's text, also as responses have it; other kinds of parts are refused."""

    type: Literal["text", "input_text", "output_text"]
    text: str


def _address(image: object) -> object:
    """The address as an object: Mistral's and Ollama's clients write its text alone."""
    return {"url": image} if isinstance(image, str) else image


class ImageAddress(EchoPart):
    """An image as a data URL."""

    url: str
    detail: Detail | None = None


class ImagePart(EchoPart):
    """An image in a user's message."""

    type: Literal["image_url"]
    image_url: Annotated[ImageAddress, BeforeValidator(_address)]


class FileContent(EchoPart):
    """A file in base64, as it is or as a data URL."""

    file_data: str
    filename: str | None = None
    file_id: Unsupported = None


class FilePart(EchoPart):
    """A file in a user's message."""

    type: Literal["file"]
    file: FileContent


_KINDS: dict[str, str] = {
    **{"image_url": "ImagePart", "file": "FilePart", "refusal": "Refusal"},
    **dict.fromkeys(THOUGHTS, "Thoughts"),
}


def _one_of(*tags: str) -> Discriminator:
    """By the type of a part; another one is read, and refused, as a text."""

    def tag(part: object) -> str:
        kind = part.get("type") if isinstance(part, dict) else None
        return name if (name := _KINDS.get(str(kind))) in tags else "TextPart"

    return Discriminator(tag)


UserPart = Annotated[
    Annotated[TextPart, Tag("TextPart")]
    | Annotated[ImagePart, Tag("ImagePart")]
    | Annotated[FilePart, Tag("FilePart")],
    _one_of("ImagePart", "FilePart"),
]
AnswerPart = Annotated[
    Annotated[TextPart, Tag("TextPart")]
    | Annotated[Refusal, Tag("Refusal")]
    | Annotated[Thoughts, Tag("Thoughts")],
    _one_of("Refusal", "Thoughts"),
]


Name = Annotated[str, Field(min_length=1, max_length=64)] | None
Penalty = Annotated[float, Field(ge=-2, le=2)] | None

Content = str | Annotated[tuple[TextPart, ...], Field(fail_fast=True, max_length=MAX_PARTS)]


class Instructions(EchoPart):
    """Instructions for the answer."""

    role: Literal["system", "developer"]
    content: Content | None
    name: Name = None


class UserMessage(EchoPart):
    """What the user wrote."""

    role: Literal["user"]
    content: str | Annotated[tuple[UserPart, ...], Field(fail_fast=True, max_length=MAX_PARTS)]
    name: Name = None


class AssistantMessage(EchoPart):
    """An earlier answer, with what clients send back with it."""

    role: Literal["assistant"]
    content: str | Annotated[tuple[AnswerPart, ...], Field(fail_fast=True, max_length=MAX_PARTS)] | None = (
        None
    )
    refusal: str | None = None
    name: Name = None
    audio: Unsupported = None
    function_call: Unsupported = None
    tool_calls: Annotated[tuple[AnyMessageCall, ...], Field(fail_fast=True, max_length=MAX_TOOLS)] | None = (
        None
    )

    def goes_on(self, name: str, value: object) -> bool:
        return is_opaque(name, value)

    @property
    def thoughts(self) -> str | None:
        """Its members that only its endpoint understands, as JSON text; a content with thoughts is one."""
        own = {name: value for name, value in (self.model_extra or {}).items() if is_opaque(name, value)}
        if isinstance(self.content, tuple) and any(isinstance(part, Thoughts) for part in self.content):
            own["content"] = [part.model_dump(exclude_none=True) for part in self.content]
        return opaque(own)


class ToolMessage(EchoPart):
    """The result of a call of an earlier answer."""

    role: Literal["tool"]
    content: Content | None
    tool_call_id: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name = None


ChatMessage = Annotated[
    Instructions | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


def _user_turn(message: UserMessage, place: str, reader: FileReader) -> Turn:
    """The message at that parameter. Raises `ApiError` for an image or a file that is not taken."""
    content = message.content
    if isinstance(content, str):
        return Turn(role="user", text=content, name=message.name)
    read = content_of((_piece(part, f"{place}.content.{at}") for at, part in enumerate(content)), reader)
    return Turn(role="user", name=message.name, **read.fields)


def _piece(part: TextPart | ImagePart | FilePart, place: str) -> tuple[str, Piece]:
    match part:
        case ImagePart():
            return f"{place}.image_url.url", ImageUrl(part.image_url.url, part.image_url.detail)
        case FilePart():
            return f"{place}.file.file_data", FileData(part.file.filename, part.file.file_data)
        case _:
            return f"{place}.text", part.text


def _turn(
    message: ChatMessage, place: str, reader: FileReader, names: ToolNames, worker: str | None
) -> Turn | None:
    """The message at that parameter in a conversation; None for an answer of nothing. Thoughts are for a
    `worker` that is asked alone.

    Raises `ApiError` for an image or a file that is not taken.
    """
    if isinstance(message, UserMessage):
        return _user_turn(message, place, reader)
    content = message.content or ""
    text = content if isinstance(content, str) else "".join(part.text for part in content)
    match message:
        case AssistantMessage():
            text = text or message.refusal or ""
            calls = tuple(each.call(names) for each in message.tool_calls or ())
            turn = Turn(role="assistant", text=text, tool_calls=calls, name=message.name)
            turn = turn.with_thoughts(message.thoughts, worker=worker)
            turn = turn.without_marks if worker is None else turn
            return turn if turn.text or calls or turn.thoughts else None
        case ToolMessage():
            return Turn(role="tool", text=text, tool_call_id=message.tool_call_id, name=message.name)
        case _:
            return Turn(role="system", text=text, name=message.name)


def _call_ids(message: ChatMessage) -> CallIds:
    """The ids of the calls that it makes, or of the one whose result it is."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    return [call.id for call in message.tool_calls or ()] if isinstance(message, AssistantMessage) else None


class ChatStreamOptions(StreamOptions):
    """What a stream of chunks contains besides the answer."""

    include_usage: bool | None = None


class AnswerFormat(EchoPart):
    """The form of the answer; `json_schema` stands beside the type of that name only."""

    type: FormKind
    json_schema: NamedSchema | None = None

    @property
    def form(self) -> ResponseFormat | None:
        """The form, None for text. Raises `ApiError` for a schema that is too large."""
        if self.json_schema is not None:
            return self.json_schema.form(param="response_format.json_schema.schema")
        return ResponseFormat(type="json_object") if self.type == "json_object" else None


def _check_form(form: AnswerFormat) -> None:
    """Raise `ApiError` where a schema is missing, or stands beside another type."""
    if (form.type == "json_schema") != (form.json_schema is not None):
        message = "Invalid value for 'response_format': json_schema and its type belong together."
        raise ApiError(message, param="response_format.json_schema", code="invalid_value")


MAX_CHOICES = 4
"""Answers of one request: each after the first is one more run of the final step."""

_REASONS = {
    **COMMON_REASONS,
    "n": f"a request gives 1 to {MAX_CHOICES} answers.",
    **TOOL_REASONS,
    "stop": "it is a text or at most four, none of them empty.",
    "messages.role": "messages are of the roles system, developer, user, assistant and tool.",
    "messages.audio": "messages are text.",
    "messages.tool_calls.type": "what is called is a function, or a custom tool.",
    "messages.function_call": "give it as one of the tool_calls, and its result in a tool's message.",
    "messages.content.type": "messages are text, images (image_url) and files (file), no sounds.",
    "messages.content.file.file_id": "no files are stored here; send the file's content as file_data.",
}


class ChatRequest(ApiRequest):
    """A conversation that ends with the user's question, and how its answer is found."""

    reasons: ClassVar[Mapping[str, str]] = _REASONS
    refused = CHAT_REFUSED
    without_effect = CHAT_WITHOUT_EFFECT
    without_logprobs = "'top_logprobs' belongs to log probabilities; ask for them with logprobs: true."
    query_parameter = "messages"
    effort_parameter = "reasoning_effort"

    messages: Annotated[tuple[ChatMessage, ...], Field(fail_fast=True, min_length=1, max_length=MAX_MESSAGES)]
    stream_options: ChatStreamOptions | None = None
    max_completion_tokens: Tokens | None = None
    max_tokens: Tokens | None = None
    stop: (
        Annotated[str, Field(min_length=1)]
        | Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=4)]
        | None
    ) = None
    reasoning_effort: Effort | None = None
    tools: Tools | None = None
    tool_choice: Choice | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    response_format: AnswerFormat | None = None
    frequency_penalty: Penalty = None
    presence_penalty: Penalty = None
    logprobs: bool | None = None
    seed: Annotated[int, Field(ge=-MAX_SEED - 1, le=MAX_SEED)] | None = None
    # The messages, None for an answer of nothing. Read by `check`: a PDF takes seconds, and on Python 3.11
    # all requests would wait for the lock of a `cached_property`.
    _turns: list[Turn | None] = PrivateAttr(default_factory=list)

    def check(self) -> None:
        check_calls(enumerate(map(_call_ids, self.messages)), place="messages", result="tool_call_id")
        reader = FileReader()
        self._turns = [
            _turn(message, f"messages.{at}", reader, self.tool_names, self.worker)
            for at, message in enumerate(self.messages)
        ]
        last = self.messages[-1]
        if isinstance(last, Instructions) or self._turns[-1] is None:
            param = f"messages.{len(self.messages) - 1}.role"
            message = "The last message must be the user's, the result of a call or the answer's beginning."
            raise ApiError(message, param=param, code="invalid_value")
        if not any(isinstance(message, UserMessage) for message in self.messages):
            message = "The messages contain no question; one of them must be the user's."
            raise ApiError(message, param="messages", code="invalid_value")
        if len({self.max_tokens, self.max_completion_tokens} - {None}) > 1:
            message = "Give one of 'max_completion_tokens' and 'max_tokens'; they mean the same, and differ."
            raise ApiError(message, param="max_tokens", code="invalid_value")
        if (self.n or 1) > 1 and self.tool_names.offered:
            raise unsupported("n", "the next request goes on from the calls of one answer.")
        if self.response_format is not None:
            _check_form(self.response_format)
            if isinstance(last, AssistantMessage) and self.response_format.type != "text":
                raise unsupported(
                    "response_format", "the beginning of the answer is given, so it is no JSON."
                )
        _ = self.offer
        super().check()

    @cached_property
    def offer(self) -> ToolOffer | None:
        """The tools that the answer may call. Raises `ApiError`."""
        return offer(self.tools or (), self.tool_names, self.tool_choice, parallel=self.parallel_tool_calls)

    @cached_property
    def tool_names(self) -> ToolNames:
        return ToolNames.of(shapes_of(self.tools or ()))

    @cached_property
    def question(self) -> Question:
        turns = [turn for turn in self._turns if turn is not None]
        last = max(at for at, turn in enumerate(turns) if turn.role == "user")
        return Question(
            query=turns[last].text,
            history=Conversation(
                turns=tuple(turns[:last]),
                following=tuple(turns[last + 1 :]),
                speaker=turns[last].name,
                images=turns[last].images,
                files=turns[last].files,
            ),
            tools=self.offer,
            answers=self.n or 1,
            seed=self.seed,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            logprobs=self.top_logprobs or 0 if self.logprobs else None,
            effort=self.reasoning_effort,
            token_limit=self.max_completion_tokens or self.max_tokens,
            limit_parameter="max_completion_tokens" if self.max_tokens is None else "max_tokens",
            stops=(self.stop,) if isinstance(self.stop, str) else self.stop or (),
            form=None if self.response_format is None else self.response_format.form,
        )


class MetadataChange(RequestBody):
    """New metadata of a stored completion; null is none."""

    reasons: ClassVar[Mapping[str, str]] = {"metadata": COMMON_REASONS["metadata"]}

    metadata: Metadata | None
