"""A request to `/v1/responses`: the parameters, and the values of them that are honoured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, PrivateAttr, Tag

from conductor.files.file_text import FileReader
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.images import Detail
from conductor.values.message_parts.opaque import opaque
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.message_parts.tools import ToolOffer
from conductor.values.messages import Effort
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.requests.content import Content, FileData, ImageUrl, Piece, content_of
from studio.api.requests.other_items import OtherItem, OtherItems
from studio.api.requests.parameters import RESPONSES_REFUSED, RESPONSES_WITHOUT_EFFECT
from studio.api.requests.request import (
    COMMON_REASONS,
    MAX_LISTED,
    MAX_MESSAGES,
    MAX_PARTS,
    THOUGHTS,
    ApiRequest,
    EchoPart,
    FormDescription,
    FormKind,
    FormName,
    NamedSchema,
    Question,
    Refusal,
    RequestPart,
    Thoughts,
    Tokens,
    Unsupported,
)
from studio.api.requests.tool_definitions import AnyFlatTool, FlatTools, shapes_of
from studio.api.requests.tool_offer import TOOL_REASONS, FlatChoice, offer
from studio.api.requests.tools import CallItem, CustomCallItem, call_ids, check_calls
from studio.api.sealed_thoughts import SealedThoughts
from studio.api.tool_names import ToolNames

LOGPROBS = "message.output_text.logprobs"
"""The value of `include` that asks for log probabilities."""

SEALED = "reasoning.encrypted_content"
"""The value of `include` that asks for what a worker is to be sent again with its thoughts."""


class InputText(EchoPart):
    """A piece of a message's text."""

    type: Literal["input_text", "output_text", "text"]
    text: str


class InputImage(EchoPart):
    """An image of a user's message, as a data URL."""

    type: Literal["input_image"]
    image_url: str
    detail: Detail | None = None
    file_id: Unsupported = None


class InputFile(EchoPart):
    """A file of a user's message in base64, as it is or as a data URL."""

    type: Literal["input_file"]
    file_data: str
    filename: str | None = None
    detail: str | None = None
    file_id: Unsupported = None
    file_url: Unsupported = None


def _part_kind(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    kinds = {"input_image": "InputImage", "input_file": "InputFile", "refusal": "Refusal"}
    return kinds.get(str(kind), "Thoughts" if kind in THOUGHTS else "InputText")


InputPart = Annotated[
    Annotated[InputText, Tag("InputText")]
    | Annotated[InputImage, Tag("InputImage")]
    | Annotated[InputFile, Tag("InputFile")]
    | Annotated[Refusal, Tag("Refusal")]
    | Annotated[Thoughts, Tag("Thoughts")],
    Discriminator(_part_kind),
]


def _piece(part: InputText | InputImage | InputFile | Refusal | Thoughts, place: str) -> tuple[str, Piece]:
    match part:
        case InputImage():
            return f"{place}.image_url", ImageUrl(part.image_url, part.detail)
        case InputFile():
            return f"{place}.file_data", FileData(part.filename, part.file_data)
        case _:
            return f"{place}.text", part.text


class InputMessage(EchoPart):
    """A message, with what clients send back with an answer."""

    type: Literal["message"] | None = None
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[tuple[InputPart, ...], Field(fail_fast=True, max_length=MAX_PARTS)]

    def turn(self, place: str, reader: FileReader) -> Turn:
        """The message at that parameter. Raises `ApiError` for an image or a file that is not taken."""
        role, content = self.role, self.content
        if isinstance(content, str):
            read = Content(content)
        else:
            read = content_of(
                (_piece(part, f"{place}.content.{at}") for at, part in enumerate(content)), reader
            )
        if (read.images or read.files) and role != "user":
            raise unsupported(f"{place}.content", "images and files belong to messages of the user.")
        return Turn(role="system" if role == "developer" else role, **read.fields)


class CallResult(EchoPart):
    """The result of a call of an earlier response."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: Annotated[str, Field(min_length=1, max_length=200)]
    output: str | Annotated[tuple[InputText, ...], Field(fail_fast=True, max_length=MAX_PARTS)]
    namespace: str | None = None

    @property
    def turn(self) -> Turn:
        output = self.output
        text = output if isinstance(output, str) else "".join(part.text for part in output)
        return Turn(role="tool", text=text, tool_call_id=self.call_id)


class ReasoningText(EchoPart):
    """A piece of what a model thought."""

    type: Literal["reasoning_text"]
    text: str


class ReasoningItem(Thoughts):
    """What a model thought before an answer, in words, and as this API sealed it."""

    type: Literal["reasoning"]
    content: Annotated[tuple[ReasoningText, ...], Field(fail_fast=True, max_length=MAX_PARTS)] | None = None
    encrypted_content: str | None = None

    @cached_property
    def sealed(self) -> SealedThoughts | None:
        """What was sealed here; None for what was sealed elsewhere, or not."""
        return None if self.encrypted_content is None else SealedThoughts.read(self.encrypted_content)

    @property
    def listed(self) -> str | None:
        if self.sealed is not None:
            return None
        if not self.content:
            return self.type
        return None if self.encrypted_content is None else f"{self.type}.encrypted_content"

    def turn(self, worker: str) -> Turn:
        """The same as an answer that is nothing but thoughts. Words alone are for `worker`, as DeepSeek and
        vLLM read them.
        """
        if self.sealed is not None:
            thoughts, worker = self.sealed.thoughts, self.sealed.worker
        else:
            text = "".join(part.text for part in self.content or ())
            thoughts = opaque({"reasoning_content": text} if text else {})
        return Turn(role="assistant", text="", thoughts=thoughts, worker=worker)


class ItemReference(EchoPart):
    """An item of a stored response, which takes its place before anything reads it."""

    type: Literal["item_reference"] | None = None
    id: Annotated[str, Field(min_length=1, max_length=200)]


class MoreTools(EchoPart):
    """Tools that the answer may call as well: what a search for tools has brought."""

    type: Literal["additional_tools", "tool_search_output"]
    role: Literal["developer"] | None = None
    tools: FlatTools


class UnusableItem(RequestPart):
    """An item that asks for what is not done here: refused."""

    type: Literal["message"]


_KINDS = {
    "message": "Message",
    "function_call": "Call",
    "custom_tool_call": "CustomCall",
    "function_call_output": "Result",
    "custom_tool_call_output": "Result",
    "reasoning": "Thoughts",
    "item_reference": "Reference",
    "additional_tools": "MoreTools",
    "tool_search_output": "MoreTools",
    "compaction_trigger": "Unusable",
    "configuration_update": "Unusable",
}


def _kind(item: object) -> str:
    if not isinstance(item, dict):
        return "Message"
    kind = item.get("type")
    if kind is None:
        return "Reference" if "id" in item and not {"role", "content"} & item.keys() else "Message"
    return _KINDS.get(kind, "Other") if isinstance(kind, str) else "Unusable"


InputItem = Annotated[
    Annotated[InputMessage, Tag("Message")]
    | Annotated[CallItem, Tag("Call")]
    | Annotated[CustomCallItem, Tag("CustomCall")]
    | Annotated[CallResult, Tag("Result")]
    | Annotated[ReasoningItem, Tag("Thoughts")]
    | Annotated[ItemReference, Tag("Reference")]
    | Annotated[MoreTools, Tag("MoreTools")]
    | Annotated[OtherItem, Tag("Other")]
    | Annotated[UnusableItem, Tag("Unusable")],
    Discriminator(_kind),
]


def _placed_turns(
    items: Sequence[InputItem], reader: FileReader, names: ToolNames, worker: str | None
) -> list[tuple[int, Turn]]:
    """The messages, each with the index of its first item. Calls that stand side by side, and a text right
    before or behind them, are one message of the assistant; so are thoughts and what comes behind them, or
    before them if nothing does. Thoughts are for a `worker` that is asked alone.
    """
    turns: list[tuple[int, Turn]] = []
    sealed: dict[str, str] = {}
    others = OtherItems(items)
    for at, item in enumerate(items):
        match item:
            case InputMessage():
                turn = item.turn(f"input.{at}", reader)
                own = [turn.without_marks if worker is None else turn]
            case CallItem() | CustomCallItem():
                calling = Turn(role="assistant", text="", tool_calls=(item.call(names),))
                own = [calling.with_thoughts(None, worker=worker)]
            case CallResult():
                own = [item.turn]
            case ReasoningItem():
                own = [] if worker is None else [item.turn(worker)]
                sealed |= {} if worker is None or item.sealed is None else item.sealed.calls
            case _:
                own = others.turns(at)
        for turn in own:
            if turn.role != "assistant":
                _sign(turns, sealed)
                sealed = {}
            first, before = turns[-1] if turns else (at, None)
            if before is not None and before.role == turn.role == "assistant" and _one(before, turn):
                turns[-1] = (first, _joined(before, turn))
            else:
                turns.append((at, turn))
    _sign(turns, sealed)
    return turns


def _only_thinks(turn: Turn) -> bool:
    return turn.role == "assistant" and not (turn.text or turn.tool_calls)


def _one(before: Turn, turn: Turn) -> bool:
    """Whether two messages of the assistant are one: not where both are texts, or both have thoughts."""
    if before.thoughts and turn.thoughts:
        return False
    calls = before.tool_calls or turn.tool_calls
    return _only_thinks(before) or (not (before.text and turn.text) and bool(calls))


def _joined(before: Turn, turn: Turn) -> Turn:
    calls = (*before.tool_calls, *turn.tool_calls)
    thinking = turn if turn.thoughts or before.worker is None else before
    own = {"thoughts": thinking.thoughts, "worker": thinking.worker}
    return before.model_copy(update={"text": before.text + turn.text, "tool_calls": calls, **own})


def _sign(turns: list[tuple[int, Turn]], sealed: Mapping[str, str]) -> None:
    """Give the last one of the messages the members of its calls that were `sealed`. Thoughts at the end are
    those of the message before, if that has none.
    """
    if not turns or turns[-1][1].role != "assistant":
        return
    at, last = turns.pop()
    if _only_thinks(last):
        if not turns or turns[-1][1].role != "assistant" or turns[-1][1].thoughts:
            return
        at, before = turns.pop()
        last = _joined(before, last)
    thoughts, worker = last.thoughts, last.worker
    if sealed:
        calls = tuple(
            call.model_copy(update={"extra": call.extra or sealed.get(call.id)}) for call in last.tool_calls
        )
        last = last.model_copy(update={"tool_calls": calls})
    turns.append((at, last.with_thoughts(thoughts, worker=worker)))


class Reasoning(EchoPart):
    """How hard to think."""

    effort: Effort | None = None


class TextFormat(EchoPart):
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
        schema_fields = {"name": self.name, "schema": self.schema_}
        for name, value in {**schema_fields, "description": self.description, "strict": self.strict}.items():
            if (value is not None and self.type != "json_schema") or (
                value is None and self.type == "json_schema" and name in schema_fields
            ):
                message = "Invalid value for 'text.format': a name and a schema belong to json_schema."
                raise ApiError(message, param=f"text.format.{name}", code="invalid_value")


class TextOptions(EchoPart):
    """The form of the answer."""

    format: TextFormat | None = None


_REASONS = {
    **COMMON_REASONS,
    **TOOL_REASONS,
    "input.type": "nothing is compacted here, and settings are parameters of the request, not items.",
    "input.id": "give the id of an item of a stored response, or the item itself.",
    "input.output.type": "results of calls are texts here.",
    "input.content.type": "messages are text, images (input_image) and files (input_file), no sounds.",
    "input.content.file_id": "no files are stored here; send the image as a data URL, the file as file_data.",
    "input.content.file_url": "nothing is fetched from addresses; send the file's content as file_data.",
}


class ResponsesRequest(ApiRequest):
    """The user's question, alone or as the last of several messages, and how its answer is found."""

    reasons: ClassVar[Mapping[str, str]] = _REASONS
    refused = RESPONSES_REFUSED
    without_effect = RESPONSES_WITHOUT_EFFECT
    without_logprobs = f"'top_logprobs' belongs to log probabilities; ask for them with include: {LOGPROBS}."
    query_parameter = "input"
    effort_parameter = "reasoning.effort"

    input: (
        str | Annotated[tuple[InputItem, ...], Field(fail_fast=True, min_length=1, max_length=MAX_MESSAGES)]
    )
    instructions: str | None = None
    previous_response_id: str | None = None
    tools: FlatTools | None = None
    tool_choice: FlatChoice | None = None
    max_output_tokens: Tokens | None = None
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    include: tuple[str, ...] | None = None
    background: bool | None = None
    # The messages of the input, each with the index of its first item; read by `check`.
    _turns: list[tuple[int, Turn]] = PrivateAttr(default_factory=list)

    def check(self) -> None:
        if self.references:
            # Read once the items are there.
            return
        self._turns = self._read_turns()
        if isinstance(self.input, tuple):
            self._check_items(self.input)
        if self.text is not None and self.text.format is not None:
            self.text.format.check()
        if self.background and self.store is False:
            raise unsupported("background", "what goes on without its client is found in the store.")
        _ = self.offer
        super().check()

    @property
    def references(self) -> dict[int, str]:
        """The ids of stored items that stand for the items, by their positions in the input."""
        return {at: item.id for at, item in enumerate(self._items) if isinstance(item, ItemReference)}

    def _check_items(self, items: Sequence[InputItem]) -> None:
        if not self._turns or self._turns[-1][1].role not in ("user", "tool"):
            message = "The last message must be the user's, or the result of a call."
            raise ApiError(message, param=f"input.{len(items) - 1}.role", code="invalid_value")
        if self.previous_response_id is not None:
            # The calls may be that response's; see `after`.
            return
        check_calls([(at, call_ids(turn)) for at, turn in self._turns], place="input", result="call_id")
        if not any(turn.role == "user" for _, turn in self._turns):
            message = "The input contains no question; one of its messages must be the user's."
            raise ApiError(message, param="input", code="invalid_value")

    @property
    def idle_values(self) -> Iterable[str]:
        honoured = (LOGPROBS,) if self.worker is None else (LOGPROBS, SEALED)
        return (f"include.{name[:MAX_LISTED]}" for name in self.include or () if name not in honoured)

    @property
    def echoing(self) -> Mapping[str, object]:
        others = OtherItems(self._items)
        # Of an item that is a call or a result, the conversation has everything.
        items = tuple(item for at, item in enumerate(self._items) if not others.turns(at))
        return {**super().echoing, "input": items}

    @property
    def _items(self) -> tuple[InputItem, ...]:
        return self.input if isinstance(self.input, tuple) else ()

    @cached_property
    def offered_tools(self) -> tuple[AnyFlatTool, ...]:
        """Its tools, and those among the items of its input that are new."""
        own = self.tools or ()
        added = chain.from_iterable(item.tools for item in self._items if isinstance(item, MoreTools))
        new = {tool.model_dump_json(): tool for tool in added}
        for tool in own if new else ():
            new.pop(tool.model_dump_json(), None)
        return (*own, *new.values())

    @cached_property
    def tool_names(self) -> ToolNames:
        return ToolNames.of(shapes_of(self.offered_tools))

    @property
    def sealed(self) -> bool:
        """Whether the answer is to have what its worker is to be sent again with its thoughts."""
        return self.worker is not None and SEALED in (self.include or ())

    @cached_property
    def offer(self) -> ToolOffer | None:
        """The tools that the answer may call. Raises `ApiError`."""
        return offer(self.offered_tools, self.tool_names, self.tool_choice, parallel=self.parallel_tool_calls)

    @cached_property
    def question(self) -> Question:
        return self._question_of([turn for _, turn in self._turns], self.instructions or "")

    def after(self, earlier: Conversation) -> Question:
        """What is asked for behind all messages of an earlier response, its answer included.

        Instructions are not taken over, but where the results of its calls go on with its own question.
        Raises `ApiError` where its calls and the results do not belong together.
        """
        own = self._turns
        before = [(0, call_ids(turn)) for turn in earlier.turns[-1:]]
        check_calls([*before, *((at, call_ids(turn)) for at, turn in own)], place="input", result="call_id")
        goes_on = self.instructions is None and all(turn.role != "user" for _, turn in own)
        instructions = earlier.instructions if goes_on else self.instructions or ""
        return self._question_of([*earlier.turns, *(turn for _, turn in own)], instructions)

    def _question_of(self, turns: Sequence[Turn], instructions: str) -> Question:
        """The question is the user's last message; an earlier response's is none."""
        last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=None)
        at = len(turns) if last is None else last
        return Question(
            query="" if last is None else turns[at].text,
            history=Conversation(
                instructions=instructions,
                turns=tuple(
                    turn for turn in turns[:at] if turn.display_text or turn.images or call_ids(turn)
                ),
                following=tuple(turns[at + 1 :]),
                images=() if last is None else turns[at].images,
                files=() if last is None else turns[at].files,
            ),
            tools=self.offer,
            effort=None if self.reasoning is None else self.reasoning.effort,
            token_limit=self.max_output_tokens,
            limit_parameter="max_output_tokens",
            form=self.form,
            form_parameter="text.format",
            logprobs=self.top_logprobs or 0 if LOGPROBS in (self.include or ()) else None,
            logprobs_parameter=f"include.{LOGPROBS}",
        )

    @property
    def form(self) -> ResponseFormat | None:
        """The form of the answer, None for text."""
        return None if self.text is None or self.text.format is None else self.text.format.form

    def _read_turns(self) -> list[tuple[int, Turn]]:
        if isinstance(self.input, str):
            return [(0, Turn(role="user", text=self.input))]
        return _placed_turns(self.input, FileReader(), self.tool_names, self.worker)
