"""An answer while it comes: its text, its reasoning, and how it ended.

Folds chunks into items, without halves of characters and without keys; knows neither connections nor time.
"""

from __future__ import annotations

import re
from typing import Literal

from conductor.values.messages import CallDelta, Completion, Delta, FinishReason, Thought, Usage
from conductor.workers.endpoint.reply.call_pieces import CallPieces, CleanText
from conductor.workers.endpoint.reply.token_pieces import TokenPieces
from conductor.workers.endpoint.wire import Chunk, Piece
from conductor.workers.keys.mask import Mask

Item = Delta | Thought | CallDelta

# -- the <think> block -------------------------------------------------------------------------------

_OPEN = "<think>"
_CLOSE = re.compile(r"</think>", re.IGNORECASE)
_CLOSE_LENGTH = len("</think>")
_MOST_BLANKS = 64
"""More blanks than this before a tag are an answer's own."""


class ThinkBlock:
    """Separates the `<think>` block with which open models begin from the answer, while both are streamed.

    Deltas joined are the answer, thoughts joined the reasoning. A block counts at the very beginning; later
    ones are part of the answer.
    """

    def __init__(self) -> None:
        self._at: Literal["start", "thinking", "between", "answer"] = "start"
        self._held = ""

    @property
    def answering(self) -> bool | None:
        """Whether the answer has begun; None while its first characters could be a block's."""
        return None if self._at == "start" else self._at == "answer"

    def feed(self, text: str) -> list[Delta | Thought]:
        """The next piece of text; what of it is certain."""
        if self._at == "answer":
            return [Delta(text=text)] if text else []
        self._held += text
        items: list[Delta | Thought] = []
        if self._at == "start":
            self._open()
        if self._at == "thinking":
            items += self._think()
        if self._at == "between":
            self._held = self._held.lstrip()
            self._at = "answer" if self._held else "between"
        if self._at == "answer":
            items += self._rest(Delta)
        return items

    def end(self) -> list[Delta | Thought]:
        return self._rest(Thought if self._at == "thinking" else Delta)

    def _open(self) -> None:
        began = self._held.lstrip().lower()
        if began.startswith(_OPEN):
            self._held = self._held.lstrip()[len(_OPEN) :]
            self._at = "thinking"
        elif not _OPEN.startswith(began) or len(self._held) > _MOST_BLANKS:
            self._at = "answer"

    def _think(self) -> list[Thought]:
        close = _CLOSE.search(self._held)
        if close is None:
            # The last characters may be the beginning of the closing tag.
            tail = self._held[-_CLOSE_LENGTH:]
            at = tail.rfind("<")
            kept = tail[at:] if at >= 0 and "</think>".startswith(tail[at:].lower()) else ""
            thought = self._held.removesuffix(kept)
            self._held = kept
        else:
            thought, self._held = self._held[: close.start()], self._held[close.end() :]
            self._at = "between"
        return [Thought(text=thought)] if thought else []

    def _rest(self, kind: type[Delta] | type[Thought]) -> list[Delta | Thought]:
        held, self._held = self._held, ""
        return [kind(text=held)] if held else []


# -- the answer --------------------------------------------------------------------------------------

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
}


class Reply:
    """What has arrived of one answer.

    `characters` counts its text and reasoning, `finish` is the server's reason for the end, `done` whether
    the server has announced the end. `shown` counts the characters that were yielded, `called` is whether it
    has called tools, `declined` whether any of its text was in the protocol's field for refusals. `mask`
    hides the keys in text, reasoning and calls. Calls are read where tools were offered (`with_tools`), and
    `logprobs`, with so many tokens at each place, where they were asked for.
    """

    def __init__(self, mask: Mask, *, with_tools: bool = False, logprobs: int | None = None) -> None:
        self.mask = mask
        self.characters = 0
        self.shown = 0
        self.called = False
        self.declined = False
        self.done = False
        self.finish: str | None = None
        self._usage: Usage | None = None
        self._answer = CleanText(mask)
        self._thought = CleanText(mask)
        self._think_block = ThinkBlock()
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls = CallPieces(mask) if with_tools else None
        self._tokens = None if logprobs is None else TokenPieces(mask, most=logprobs)

    @property
    def empty(self) -> bool:
        """Whether there is no answer, with or without reasoning."""
        return not self._calls and not "".join(self._text).strip()

    @property
    def longest(self) -> int:
        """The characters of its text and reasoning, or of its log probabilities where those have more."""
        return max(self.characters, 0 if self._tokens is None else self._tokens.characters)

    @property
    def whole(self) -> bool:
        """Whether nothing of the answer is to come, but perhaps its usage."""
        return self.done or self.finish is not None

    def take(self, chunk: Chunk) -> tuple[list[Item], bool]:
        """The items of the next chunk, and whether the chunk brought any progress. Raises `ValueError` for a
        call of a tool that is none.
        """
        used = chunk.used
        self._usage = used or self._usage
        choice = chunk.choice
        if choice is None:
            return [], used is not None
        self.finish = choice.finish_reason or self.finish
        piece = choice.delta or choice.message
        items: list[Item] = []
        items, progress = (items, False) if piece is None else self._piece(piece)
        if self._tokens is not None and piece is not None:
            self._tokens.take(choice.logprobs, answers=self._answers(piece, items))
            items = self._tokens.beside(items)
        return items, progress or used is not None or choice.finish_reason is not None

    def end(self) -> list[Item]:
        """The rest. Raises as `take`."""
        items = _thoughts(self._thought.end())
        calls = [] if self._calls is None else self._calls.end()
        texts = [*self._think_block.feed(self._answer.end()), *self._think_block.end()]
        rest = self._noted([*items, *texts, *calls])
        if self._tokens is None:
            return rest
        self._tokens.take(None, answers=self._think_block.answering is not False)
        return self._tokens.beside(rest)

    def completion(self, request_id: str | None) -> Completion:
        """The whole; `request_id` is the provider's own name of the call."""
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._thoughts),
            usage=self._usage or Usage(),
            finish_reason=self._reason,
            request_id=request_id,
            tool_calls=() if self._calls is None else self._calls.whole,
            logprobs=self._tokens.whole if self._tokens is not None and self._text else (),
        )

    @property
    def _reason(self) -> FinishReason:
        if self._calls:
            return "length" if _REASONS.get(self.finish or "") == "length" else "tool_calls"
        if self.called:
            return "other"
        return "refused" if self.declined else _REASONS.get(self.finish or "", "other")

    def _piece(self, piece: Piece) -> tuple[list[Item], bool]:
        thought, text = piece.thought, piece.text
        calls = bool(piece.tool_calls or piece.function_call)
        self.called = self.called or calls
        self.declined = self.declined or piece.declined
        self.characters += len(thought) + len(text)
        items = _thoughts(self._thought.feed(thought))
        items += self._think_block.feed(self._answer.feed(text))
        if self._calls is not None and piece.tool_calls:
            deltas, characters = self._calls.take(piece.tool_calls)
            self.characters += characters
            items += deltas
        return self._noted(items), bool(thought or text or calls)

    def _answers(self, piece: Piece, items: list[Item]) -> bool | None:
        """Whether the tokens of a piece are the answer's; None while that is not known."""
        beside = not piece.text and bool(piece.thought or piece.tool_calls)
        if beside or any(isinstance(item, Thought) for item in items):
            return False
        return self._think_block.answering

    def _noted(self, items: list[Item]) -> list[Item]:
        for item in items:
            if isinstance(item, CallDelta):
                self.shown += len(item.name or "") + len(item.text)
                continue
            (self._text if isinstance(item, Delta) else self._thoughts).append(item.text)
            self.shown += len(item.text)
        return items


def _thoughts(text: str) -> list[Item]:
    return [Thought(text=text)] if text else []
