"""Notes on words of a session: how they are written, and at which steps of a workflow they stand.

Knows the store; knows no page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import assert_never

from pydantic import ValidationError

from conductor.errors import NoteError, UnknownId
from conductor.own_settings import setting
from conductor.runs.step_state import StepState
from conductor.text.quotation import located
from conductor.values.messages import Value
from conductor.values.note import MAX_AUTHOR, MAX_NOTE, MAX_QUOTE, NotePart
from conductor.workflow.matching import places_in
from conductor.workflow.model import Step, Workflow
from storage.records import NoteRecord
from storage.session_entries import NoteEntry
from storage.store import SessionStore
from storage.tables.rows import new_id

AUTHOR = "CONDUCTOR_AUTHOR"
"""The environment variable with the name of the user, where there is no login."""


def author() -> str | None:
    """The name in `AUTHOR`; None if it is unknown."""
    return setting(AUTHOR) or None


class NotePlace(Value):
    """Which text of a session a note is on: of the step `step` (from 0) of a revision, in the run `run` where
    it is one that a run made. All three are None for the question.
    """

    part: NotePart
    step: int | None = None
    revision: str | None = None
    run: str | None = None


def step_text(part: NotePart, step: Step, state: StepState | None) -> str:
    """The text of a step that `part` names, "" before there is one."""
    match part:
        case "instruction":
            return step.instruction
        case "request":
            request = None if state is None else state.request
            return "" if request is None else "\n\n".join(message.content for message in request.messages)
        case "output":
            return "" if state is None else state.text
        case "reasoning":
            return "" if state is None else state.reasoning
        case "question":
            return ""
        case _:
            assert_never(part)


class Notes:
    """The notes of the sessions of one store."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def write(
        self,
        session: str,
        text: str,
        *,
        place: NotePlace,
        source: str,
        quote: str = "",
        near: int = 0,
        author: str | None = None,
    ) -> NoteRecord:
        """Store a note on the words `quote` of the text `source` ("": on all of it).

        The words may be those of its rendered form; of several places in the source the nearest to the
        character `near` counts. Raises `NoteError` for a note that is empty or too long.
        """
        span = located(source, quote, near=near)
        words = quote.strip()
        _check(text, words, author)
        try:
            note = NoteEntry(
                id=new_id(),
                quote=words,
                start=None if span is None else span[0],
                text=text.strip(),
                author=author.strip() or None if author is not None else None,
                created_at=0,
                **dict(place),
            )
        except ValidationError as error:
            raise NoteError(
                "The text of this note is no longer in the session. Select its words again."
            ) from error
        return self._store.notes.add(session, note)

    def by_step(self, session: str, workflow: Workflow) -> Mapping[int | None, tuple[NoteRecord, ...]]:
        """The session's notes by the step of `workflow` that each is on, oldest first; those on the question,
        and on steps that are no longer there, under None.
        """
        groups: defaultdict[int | None, list[NoteRecord]] = defaultdict(list)
        for note in self._store.notes.of_session(session):
            groups[self._step_now(note, workflow)].append(note)
        return {step: tuple(notes) for step, notes in groups.items()}

    def counts(self, session: str, workflow: Workflow) -> Mapping[int, int]:
        """How many notes there are on each step of `workflow` that has some."""
        groups = self.by_step(session, workflow)
        return {step: len(notes) for step, notes in groups.items() if step is not None}

    def _step_now(self, note: NoteRecord, workflow: Workflow) -> int | None:
        if note.step is None or note.revision is None:
            return None
        try:
            written_on = self._store.revisions.find(note.revision).workflow
        except UnknownId:
            return None
        return places_in(written_on, workflow).get(note.step)


def _check(text: str, quote: str, author: str | None) -> None:
    if not text.strip():
        raise NoteError("The note is empty; write something, or close it.")
    for name, value, most in (
        ("note", text, MAX_NOTE),
        ("quotation", quote, MAX_QUOTE),
        ("author's name", author or "", MAX_AUTHOR),
    ):
        if len(value.strip()) > most:
            raise NoteError(f"The {name} has {len(value):,} characters; the limit is {most:,}. Shorten it.")
