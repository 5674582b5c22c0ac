"""An answer while it comes: what was said, what was thought, and how it ended.

Folds chunks into items; knows neither connections nor time.
"""

from __future__ import annotations

from conductor.messages import Completion, Delta, FinishReason, Thought, Usage
from conductor.workers.chunks import Chunk, Piece
from conductor.workers.reasoning import Reasoning

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
}


class Reply:
    """What has come of one answer.

    `characters` counts its text and reasoning, `finish` is how the server ended it, `done` that the server
    said so. `shown` says whether any of it has been handed out, `called` whether it has called tools.
    """

    def __init__(self) -> None:
        self.characters = 0
        self.shown = False
        self.called = False
        self.done = False
        self.finish: str | None = None
        self._usage: Usage | None = None
        self._told = Reasoning()
        self._text: list[str] = []
        self._thoughts: list[str] = []

    @property
    def empty(self) -> bool:
        """Whether there is no answer, whatever was thought."""
        return not "".join(self._text).strip()

    @property
    def whole(self) -> bool:
        """Whether nothing of the answer is to come, but perhaps its usage."""
        return self.done or self.finish is not None

    def take(self, chunk: Chunk) -> tuple[list[Delta | Thought], bool]:
        """The items of the next chunk, and whether it went on at all."""
        used = chunk.used
        self._usage = used or self._usage
        choice = chunk.choice
        if choice is None:
            return [], used is not None
        self.finish = choice.finish_reason or self.finish
        piece = choice.delta or choice.message
        items, went_on = ([], False) if piece is None else self._piece(piece)
        return items, went_on or used is not None or choice.finish_reason is not None

    def end(self) -> list[Delta | Thought]:
        """Items held back until now."""
        return self._noted(self._told.end())

    def completion(self) -> Completion:
        """The whole."""
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._thoughts),
            usage=self._usage or Usage(),
            finish_reason="other" if self.called else _REASONS.get(self.finish or "", "other"),
        )

    def _piece(self, piece: Piece) -> tuple[list[Delta | Thought], bool]:
        thought, text = piece.thought, piece.text
        calls = bool(piece.tool_calls or piece.function_call)
        self.called = self.called or calls
        self.characters += len(thought) + len(text)
        items: list[Delta | Thought] = [Thought(text=thought)] if thought else []
        if text:
            items += self._told.feed(text)
        return self._noted(items), bool(thought or text or calls)

    def _noted(self, items: list[Delta | Thought]) -> list[Delta | Thought]:
        for item in items:
            (self._text if isinstance(item, Delta) else self._thoughts).append(item.text)
        self.shown = self.shown or bool(items)
        return items
