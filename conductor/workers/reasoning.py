"""Tells the `<think>` block with which open models begin from the answer, while both are streamed.

Knows the two tags only. A block counts at the very beginning; later ones are part of the answer.
"""

from __future__ import annotations

import re
from typing import Literal

from conductor.messages import Delta, Thought

_OPEN = "<think>"
_CLOSE = re.compile(r"</think>", re.IGNORECASE)
_CLOSE_LENGTH = len("</think>")
_MOST_BLANKS = 64
"""More blanks than this before a tag are an answer's own."""


class Reasoning:
    """A stream of text, told apart. Deltas joined are the answer, thoughts joined the reasoning."""

    def __init__(self) -> None:
        self._at: Literal["start", "thinking", "between", "answer"] = "start"
        self._held = ""

    def feed(self, text: str) -> list[Delta | Thought]:
        """The next piece of text; what of it is certain."""
        if self._at == "answer":
            return [Delta(text=text)] if text else []
        self._held += text
        told: list[Delta | Thought] = []
        if self._at == "start":
            self._open()
        if self._at == "thinking":
            told += self._think()
        if self._at == "between":
            self._held = self._held.lstrip()
            self._at = "answer" if self._held else "between"
        if self._at == "answer":
            told += self._rest(Delta)
        return told

    def end(self) -> list[Delta | Thought]:
        """What was held back for a tag that did not come."""
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
