"""A report's steps: each with its card, its section with the request, and the steps inside it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape

from conductor.drawing.network import title_of
from conductor.report.words import STATUSES, mark, moment, output_notes, source_name, step_facts
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import quantity
from conductor.values.messages import Request
from conductor.values.note import Note
from conductor.values.provenance import Share, Shares, Source
from conductor.values.request_pieces import request_pieces
from conductor.workers.endpoint.tokens import request_shares
from conductor.workflow.model import Step

_TAG = re.compile("<[^>]*>")

_TINTS = 8
"""Number of tints for steps; later steps reuse them, and their numbers distinguish them."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request by its sources; `size` is its length in words, with how it was counted.

    `legend` has each source's name, tint and share, `chunks` the text of `length` characters in pieces: text,
    tint, and the source's name where another source begins.
    """

    size: str
    legend: tuple[tuple[str, str, Share], ...]
    chunks: list[list[tuple[str, ...]]]
    length: int

    @property
    def first_length(self) -> int:
        """Characters of the first chunk."""
        return sum(len(text) for text, *_ in self.chunks[0])


@dataclass(frozen=True, slots=True)
class ReportStep:
    """A step as the report shows it; `number` counts from 1, as do `sees` and `hidden`.

    `title`, `body`, `mark` and `badges` are its card's. `inside` are the rounds of the workflow inside the
    step, each with its steps. `people` are the notes that people wrote on it.
    """

    number: int
    planned: Step
    own: StepState
    title: str
    body: str
    worker: str
    mark: str
    badges: tuple[str, ...]
    state: str
    facts: tuple[str, ...]
    sees: tuple[int, ...]
    hidden: tuple[int, ...]
    sampling: tuple[str, ...]
    request: Sent | None
    problem: str
    notes: tuple[str, ...]
    people: tuple[ReportNote, ...]
    inside: tuple[tuple[ReportStep, ...], ...]


@dataclass(frozen=True, slots=True)
class ReportNote:
    """A person's note: the words of a text that it is on, its author, and when it was written."""

    part: str
    quote: str
    text: str
    by: str


def note_of(note: Note) -> ReportNote:
    """The note as the report shows it."""
    by = f"{note.author}, {moment(note.created_at)}" if note.author else moment(note.created_at)
    return ReportNote(note.part.capitalize(), note.quote, note.text, by)


def steps_of(state: RunState, notes: Sequence[Note] = ()) -> tuple[ReportStep, ...]:
    """A run's steps, each with the `notes` on it."""
    if state.workflow is None:
        return ()
    return tuple(
        _step(at, state.workflow.steps[at], own, [note for note in notes if note.step == at])
        for at, own in enumerate(state.steps)
    )


def _step(at: int, step: Step, own: StepState, notes: Sequence[Note]) -> ReportStep:
    title, _, body = title_of(step.instruction)
    return ReportStep(
        number=at + 1,
        planned=step,
        own=own,
        title=title,
        body=body,
        worker=own.answered_by(step.worker),
        mark=mark(own),
        badges=_badges(own),
        state=STATUSES[own.status],
        facts=tuple(step_facts(own)),
        sees=tuple(read + 1 for read in step.access),
        hidden=tuple(read + 1 for read in range(at) if read not in step.access),
        sampling=step.sampling.words,
        request=None if own.request is None else _sent(own.request, own),
        problem=_problem(own),
        notes=tuple(output_notes(step, own)),
        people=tuple(map(note_of, notes)),
        inside=tuple(steps_of(inner) for inner in own.inner if inner.steps),
    )


def _badges(own: StepState) -> tuple[str, ...]:
    if own.output is not None and own.output.hand is not None:
        return ("by hand",)
    return () if own.worker_kind in (None, "model") else (str(own.worker_kind),)


def _problem(own: StepState) -> str:
    if own.message:
        return own.message
    if own.status == "blocked":
        return f"It did not run, because it reads step {', '.join(str(by + 1) for by in own.blocked_by)}."
    if own.status != "empty":
        return ""
    why = "" if own.output is None else own.output.silence
    return f"{why} Nothing was passed on.".lstrip()


def first_blocks(blocks: Sequence[str]) -> tuple[int, int]:
    """How many of the first blocks of HTML are shown at first, and how many letters these have."""
    letters = 0
    for at, block in enumerate(blocks):
        more = len(unescape(_TAG.sub("", block)))
        if at and letters + more > BEGINNING:
            return at, letters
        letters += more
    return len(blocks), letters


# -- the request -----------------------------------------------------------------------------------


def _sent(request: Request, own: StepState) -> Sent:
    # The usage of a step with an inner workflow is that of the inner calls.
    reported = own.reported_prompt
    shares = request_shares(request, kind=own.worker_kind or "model", reported=reported)
    tints = _tints(shares)
    stretches: list[tuple[str, str, str]] = []
    before: Source | None = None
    for piece in request_pieces(request, own.tool_uses):
        source = piece.source
        begins = source != before and source.kind != "frame" and bool(piece.text)
        name = piece.title or (source_name(source) if begins else "")
        # A call without a result has no share.
        stretches.append((piece.text, tints.get(source, source.kind), name))
        before = source if piece.text else before
    return Sent(
        size=_size(shares),
        legend=tuple((source_name(share.source), tints[share.source], share) for share in shares.shares),
        chunks=chunks_of(stretches),
        length=sum(len(text) for text, *_ in stretches),
    )


def _tints(shares: Shares) -> dict[Source, str]:
    sources = [share.source for share in shares.shares]
    seen = [source for source in sources if source.kind == "step"]
    return {source: source.kind for source in sources} | {
        source: f"seen-{at % _TINTS + 1}" for at, source in enumerate(seen)
    }


def _size(shares: Shares) -> str:
    total = quantity(shares.total, shares.unit.removesuffix("s"))
    if shares.exact:
        return total
    return f"~{total}, estimated by length" if shares.reported is None else f"{total}, as the worker counted"


BEGINNING = 20_000
"""Characters of a chunk at most."""

_NEAR = 500
"""So many characters before the limit, a cut looks for the end of a line or a word."""

_JOINERS = "\u200d\ufe0f"


def chunks(text: str) -> list[str]:
    """The text in chunks: its beginning, which is shown at first, and the rest; one for a text that is not
    long. The page does the same in `pages/components/widgets/long_text.js`.
    """
    return [first for ((first, *_),) in chunks_of([(text, "")])]


def chunks_of(parts: Iterable[tuple[str, *tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
    """Parts that each begin with a text, in chunks. Of a part that is cut, only the first piece has its last
    entry, which names it.
    """
    chunks: list[list[tuple[str, ...]]] = [[]]
    room = BEGINNING
    for text, *marks in parts:
        start = 0
        while len(text) - start > room:
            end = start + _cut_place(text[start : start + room + 1], room)
            if end > start:
                chunks[-1].append((text[start:end], *_marks(marks, start)))
            chunks.append([])
            start, room = end, BEGINNING
        chunks[-1].append((text[start:], *_marks(marks, start)))
        room -= len(text) - start
    return chunks


def _marks(marks: Sequence[str], start: int) -> Sequence[str]:
    """What a piece that starts there has of its part's entries."""
    return [*marks[:-1], ""] if marks and start else marks


def _cut_place(text: str, most: int) -> int:
    """Where a text of more than `most` characters is cut: behind a line or a word, else between letters."""
    for end in "\n ":
        if (at := text.rfind(end, max(0, most - _NEAR), most)) >= 0:
            return at + 1
    place = most
    while place > max(0, most - _NEAR) and (
        unicodedata.combining(text[place]) or text[place] in _JOINERS or text[place - 1] in _JOINERS
    ):
        place -= 1
    return place
