"""Words in the texts of one session: where they are, and what stands around them.

Each text is searched once, however many requests show it. Knows states of runs; knows no page and no store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from conductor.runs.step_state import StepState
from conductor.values.note import NotePart
from conductor.workflow.model import Step
from storage.records import NoteRecord
from studio.sessions.notes import step_text

MOST, MOST_IN_A_TEXT = 60, 3
"""Places that are found, in all and in one text."""

LONGEST = 200
"""Characters that are searched for."""

BEFORE, AFTER = 40, 90
"""Characters shown around the words."""


class SessionText(NamedTuple):
    """A text of a session: the `part` of the step `step` (from 0) of the workflow shown, or of the run `run`
    before it. `note` is set where it is a person's note on that part; on the question `step` is None.

    Of a request it is a piece: `ahead` characters of `whole` stand before it.
    """

    text: str
    part: NotePart
    step: int | None
    run: str | None = None
    note: NoteRecord | None = None
    ahead: int = 0
    whole: int = 0


class WordPlace(NamedTuple):
    """Words found in a text: `text.text[start:end]`; `before` and `after` are what is shown around them."""

    text: SessionText
    start: int
    end: int
    before: str
    words: str
    after: str

    @property
    def near(self) -> float:
        """The part of the whole text (0 to 1) that stands before the words."""
        return (self.text.ahead + self.start) / max(1, self.text.whole or len(self.text.text))


def texts_of(
    steps: Sequence[Step], states: Sequence[StepState | None], *, run: str | None = None
) -> Iterator[SessionText]:
    """The texts of a workflow's steps with their states in a run: first what they answered and thought, then
    what they were asked, last the parts of their requests.
    """
    parts: tuple[NotePart, ...] = ("output", "reasoning", "instruction")
    for part in parts:
        for at, (step, state) in enumerate(zip(steps, states, strict=True)):
            yield SessionText(step_text(part, step, state), part, at, run)
    for at, state in enumerate(states):
        messages = () if state is None or state.request is None else state.request.messages
        pieces = [piece.text for message in messages for piece in message.parts]
        ahead, whole = 0, sum(map(len, pieces))
        for text in pieces:
            yield SessionText(text, "request", at, run, ahead=ahead, whole=whole)
            ahead += len(text)


def find_words(texts: Iterable[SessionText], words: str) -> tuple[WordPlace, ...]:
    """The first places of the words, whatever their case and the spaces between them; none for no words."""
    parts = words[:LONGEST].split()
    if not parts:
        return ()
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    return tuple(islice(_places(texts, pattern), MOST))


def _places(texts: Iterable[SessionText], pattern: re.Pattern[str]) -> Iterator[WordPlace]:
    seen: set[str] = set()
    for text in texts:
        # A note may have the words of another text.
        if text.note is None:
            if text.text in seen:
                continue
            seen.add(text.text)
        for match in islice(pattern.finditer(text.text), MOST_IN_A_TEXT):
            yield _place(text, *match.span())


def _place(text: SessionText, start: int, end: int) -> WordPlace:
    whole = text.text
    begin, stop = max(0, start - BEFORE), min(len(whole), end + AFTER)
    before, after = " ".join(whole[begin:start].split()), " ".join(whole[end:stop].split())
    # The blanks beside the words are part of what is read.
    before += " " if whole[max(0, start - 1) : start].isspace() else ""
    after = f" {after}" if whole[end : end + 1].isspace() else after
    return WordPlace(
        text,
        start,
        end,
        ("…" if begin else "") + before,
        " ".join(whole[start:end].split()),
        after + ("…" if stop < len(whole) else ""),
    )
