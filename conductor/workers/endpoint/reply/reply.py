"""An answer while it comes: its text, its reasoning, and how it ended.

Folds chunks into items, without halves of characters and without keys; knows neither connections nor time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from conductor.text.thoughts import TextPiece, ThoughtReader
from conductor.values.message_parts.tools import ToolOffer
from conductor.values.messages import CallDelta, Completion, Delta, FinishReason, Thought, Usage
from conductor.workers.endpoint.reply.call_pieces import CallPieces, CleanText
from conductor.workers.endpoint.reply.call_texts import CallTexts
from conductor.workers.endpoint.reply.content import texts_of_thought
from conductor.workers.endpoint.reply.opaque_pieces import OpaquePieces
from conductor.workers.endpoint.reply.token_pieces import TokenPieces
from conductor.workers.endpoint.reply.usage_forms import TokensSoFar
from conductor.workers.endpoint.wire import Chunk, Piece
from conductor.workers.keys.mask import Mask

Item = Delta | Thought | CallDelta


class Reply:
    """What has arrived of one answer.

    `characters` counts its text and reasoning, `finish` is the server's reason for the end, `done` whether
    the server has announced the end, `unread` the last event that was no part of an answer. `sent_characters`
    counts the characters that were yielded, `called` is whether it has called tools, `declined` whether any
    of its text was in the protocol's field for refusals, `has_choice` whether any answer came, however empty.
    `mask` hides the keys in text, reasoning and calls. Calls are read where `tools` were offered, also from
    the text, and `logprobs`, with so many tokens at each place, where they were asked for. `in_prompt`: the
    answer before began with thoughts that the prompt had opened, as this one does if a mark ends them or no
    tokens are left.
    """

    def __init__(
        self,
        mask: Mask,
        *,
        tools: ToolOffer | None = None,
        logprobs: int | None = None,
        in_prompt: bool = False,
    ) -> None:
        self.mask = mask
        self.characters = 0
        self.sent_characters = 0
        self.called = False
        self.declined = False
        self.done = False
        self.finish: str | None = None
        self.has_choice = False
        self.tokens = TokensSoFar()
        self.unread = ""
        self._unsaid = False
        self._message = self._deltas = False
        self._messages = ""
        self._answer = CleanText(mask)
        self._thought = CleanText(mask)
        self._reader = ThoughtReader(in_prompt=in_prompt)
        self._begins_in_thoughts = in_prompt
        # A field of thoughts may have their marks, too.
        self._field_reader = ThoughtReader(in_prompt=True)
        self._opaque = OpaquePieces(mask)
        self._text: list[str] = []
        self._thoughts: list[str] = []
        names = frozenset(() if tools is None else (tool.name for tool in tools.tools))
        self._calls = None if tools is None else CallPieces(mask, names)
        refuses_calls = tools is not None and tools.choice is not None and tools.choice.kind == "none"
        self._call_texts = CallTexts(frozenset() if refuses_calls else names)
        self._tokens = None if logprobs is None else TokenPieces(mask, most=logprobs)

    @property
    def empty(self) -> bool:
        """Whether there is no answer, with or without reasoning."""
        return not self._calls and not "".join(self._text).strip()

    @property
    def in_prompt(self) -> bool:
        """Whether it began with thoughts that the prompt had opened."""
        return self._begins_in_thoughts or self._reader.recalled

    @property
    def longest(self) -> int:
        """The characters of its text and reasoning, or of its log probabilities where those have more."""
        return max(self.characters, 0 if self._tokens is None else self._tokens.characters)

    @property
    def whole(self) -> bool:
        """Whether nothing of the answer is to come, but perhaps its usage."""
        return self.done or self.finish is not None or self._message

    @property
    def cut(self) -> bool:
        """Whether the answer may be cut off: its end has no reason, or a fault as its reason.

        A whole message needs no reason, nor does a server whose chunks have an empty one.
        """
        if self.finish is None:
            return not (self._message or self._unsaid)
        return reason_of(self.finish) == "failed"

    @property
    def refused(self) -> bool:
        return reason_of(self.finish) == "refused"

    def take(self, chunk: Chunk) -> tuple[list[Item], bool]:
        """The items of the next chunk, and whether the chunk brought any progress. Raises `ValueError` for a
        call of a tool that is none.
        """
        used = self.tokens.take(*chunk.places)
        choice = chunk.choice
        if choice is None:
            self.unread = self.unread if used or not chunk.unread else self.mask(chunk.unread)
            return [], used
        self.has_choice = True
        self.finish = choice.finish or self.finish
        self._unsaid = self._unsaid or choice.finish == ""
        piece = choice.piece if not choice.whole or choice.piece is None else self._new(choice.piece)
        self._message = self._message or choice.whole
        items: list[Item] = []
        before = self.characters
        items, progress = (items, False) if piece is None else self._piece(piece)
        self._deltas = self._deltas or (not choice.whole and self.characters > before)
        if self._tokens is not None and piece is not None:
            self._tokens.take(choice.logprobs, answers=self._answers(piece, items))
            items = self._tokens.beside(items)
        return items, progress or used or bool(choice.finish)

    def _new(self, message: Piece) -> Piece | None:
        """What a message adds: one behind deltas repeats them, one behind others goes on or repeats them."""
        if self._deltas:
            return None
        before, text = self._messages, message.text
        repeats = bool(before) and text.startswith(before)
        self._messages = text if repeats else before + text
        return Piece(content=text[len(before) :]) if repeats else message

    def end(self) -> list[Item]:
        """The rest. Raises as `take`."""
        items = _thoughts([*self._field_reader.feed(self._thought.end()), *self._field_reader.end()])
        items += self._read([*self._reader.feed(self._answer.end()), *self._reader.end()])
        rest = self._noted([*items, *self._with_calls("")])
        thoughts = "".join(self._thoughts)
        if self._begins_in_thoughts and not self._reader.recalled and self._reason != "length":
            # No mark ended its thoughts, so it had none.
            self._begins_in_thoughts = False
            self._thoughts.clear()
            rest += self._noted(self._with_calls(thoughts))
        elif self._calls is not None and self.empty:
            # Qwen3.5 and Kimi K2 call a tool before they close their thoughts; alone none may begin them.
            called = self._with_calls(f"…{thoughts}")
            rest += self._noted([item for item in called if isinstance(item, CallDelta)])
        if self._tokens is None:
            return rest
        self._tokens.take(None, answers=self._reader.answering is not False)
        return self._tokens.beside(rest)

    def _with_calls(self, text: str) -> list[Item]:
        """The last text of the answer, and the calls that are written into it."""
        text = self._call_texts.feed(text)
        more, written = self._call_texts.end(called=bool(self._calls))
        items: list[Item] = [Delta(text=text + more)] if text + more else []
        if self._calls is not None:
            items += [*self._calls.take(written)[0], *self._calls.end()]
        return items

    @property
    def used(self) -> Usage | None:
        """What its endpoint reported of an answer that broke off; None if that is nothing."""
        if not self.tokens.is_known:
            return None
        usage = self.tokens.usage(wrote=False)
        # Of its words some may not be counted yet.
        return Usage(prompt_tokens=usage.prompt_tokens) if self.sent_characters else usage

    def completion(self, request_id: str | None) -> Completion:
        """The whole; `request_id` is the provider's own name of the call."""
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._thoughts),
            usage=self.tokens.usage(wrote=bool(self._text or self._thoughts or self._calls)),
            finish_reason=self._reason,
            request_id=request_id,
            tool_calls=() if self._calls is None else self._calls.whole,
            logprobs=self._tokens.whole if self._tokens is not None and self._text else (),
            thoughts=self._opaque.whole,
        )

    @property
    def _reason(self) -> FinishReason:
        reason = reason_of(self.finish)
        if self._calls:
            return "length" if reason == "length" else "tool_calls"
        if self.called or reason == "failed":
            return "other"
        if self.finish is None and self._unsaid:
            return "stop"
        return "refused" if self.declined else reason

    def _piece(self, piece: Piece) -> tuple[list[Item], bool]:
        thought, text = piece.thought, piece.text
        self._opaque.take(piece.fields)
        calls = bool(piece.tool_calls or piece.function_call)
        self.called = self.called or calls
        self.declined = self.declined or piece.declined
        self.characters += len(thought) + len(text)
        if thought and self._begins_in_thoughts and not self._reader.recalled:
            # Thoughts that have a field are not in the text.
            self._reader, self._begins_in_thoughts = ThoughtReader(), False
        members = texts_of_thought(piece.fields) if thought else ()
        items = _thoughts(self._field_reader.feed(self._thought.feed(thought)), members)
        items += self._read(self._reader.feed(self._answer.feed(text)))
        if self._calls is not None and calls:
            deltas, characters = self._calls.take(piece.tool_calls or [{"function": piece.function_call}])
            self.characters += characters
            items += deltas
        return self._noted(items), bool(thought or text or calls)

    def _read(self, pieces: Iterable[TextPiece]) -> Iterator[Item]:
        """The items of pieces of the content, without calls that are written into the text; text before is
        recalled where it was thoughts.
        """
        for piece in pieces:
            if piece.kind == "thought":
                yield Thought(text=piece.text)
            elif piece.kind != "answer":
                yield Thought(text="", recalls=piece.at)
            elif text := self._call_texts.feed(piece.text):
                yield Delta(text=text)

    def _answers(self, piece: Piece, items: list[Item]) -> bool | None:
        """Whether the tokens of a piece are the answer's; None while that is not known."""
        beside = not piece.text and bool(piece.thought or piece.tool_calls)
        if beside or any(isinstance(item, Thought) for item in items):
            return False
        return self._reader.answering

    def _noted(self, items: list[Item]) -> list[Item]:
        for item in items:
            if isinstance(item, CallDelta):
                self.sent_characters += len(item.name or "") + len(item.text)
                continue
            if isinstance(item, Thought) and item.recalls:
                left, recalled = item.recalls, list[str]()
                while left > 0 and self._text:
                    recalled.append(self._text.pop())
                    left -= len(recalled[-1])
                self._thoughts += reversed(recalled)
                if self._tokens is not None:
                    self._tokens.clear()
            (self._text if isinstance(item, Delta) else self._thoughts).append(item.text)
            self.sent_characters += len(item.text)
        return items


def _thoughts(pieces: Iterable[TextPiece], members: tuple[str, ...] = ()) -> list[Item]:
    return [Thought(text=piece.text, members=members) for piece in pieces if piece.text]


# Why an answer ended, by the formats of OpenAI, Azure, Anthropic, Bedrock, Gemini, Mistral, Cohere, Together,
# TGI, vLLM, SGLang, LMDeploy, TensorRT-LLM, Ollama, DeepSeek, Zhipu and OpenRouter.
_REASONS: dict[FinishReason | Literal["failed"], str] = {
    "stop": "stop eos eos_token stop_sequence stop_token end_turn end complete completed finished finish "
    "done normal",
    "length": "length max_tokens max_output_tokens max_completion_tokens max_new_tokens token_limit "
    "model_length max_length context_length_exceeded model_context_window_exceeded error_limit",
    "refused": "content_filter content_filtered guardrail_intervened sensitive safety prohibited_content "
    "blocklist recitation spii image_safety refusal error_toxic language model_armor blocked moderation "
    "content_policy_violation",
    "failed": "error failed abort aborted cancelled canceled timeout time_limit network_error server_error "
    "internal_error insufficient_system_resource malformed_function_call malformed_response "
    "malformed_model_output malformed_tool_use unexpected_tool_call too_many_tool_calls "
    "missing_thought_signature user_cancel overloaded engine_overloaded unavailable interrupted incomplete",
}
_BY_NAME = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def reason_of(finish: str | None) -> FinishReason | Literal["failed"]:
    """What a server's word for the end means; `failed` where what came before may be cut off."""
    name = (finish or "").lower().replace("-", "_").removeprefix("finish_reason_")
    general, _, own = name.partition(":")  # Gemini: "content_filter: SAFETY"
    return next((_BY_NAME[each] for each in (own.strip(), general) if each in _BY_NAME), "other")
