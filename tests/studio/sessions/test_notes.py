"""Notes: on which words, by whom, and at which step they stand after an edit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.errors import NoteError
from conductor.values.note import MAX_NOTE, MAX_QUOTE
from conductor.workflow.model import Step, Workflow
from storage import Revision, SessionStore
from studio.sessions.notes import NotePlace, Notes

QUESTION = NotePlace(part="question")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(f"sqlite:///{tmp_path / 'notes.db'}") as store:
        yield store


@pytest.fixture
def session(store: SessionStore) -> str:
    return store.sessions.create("Which?").id


def steps(*instructions: str) -> Workflow:
    return Workflow.of([Step(instruction=text, worker="alpha") for text in instructions])


def revised(store: SessionStore, session: str, *instructions: str) -> Revision:
    return store.revisions.add(session, steps(*instructions), origin="human")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quote", "near", "expected"),
    [
        ("the Nile", 0, ("the Nile", 3)),
        ("the Nile", 40, ("the Nile", 32)),
        ("x² + 1", 0, ("x² + 1", None)),
        ("", 0, ("", None)),
    ],
)
def test_words_are_kept_with_their_place_in_the_source(
    store: SessionStore, session: str, quote: str, near: int, expected: tuple[str, int | None]
) -> None:
    source = "Is the **Nile** the longest? Is the Nile wide?"
    note = Notes(store).write(
        session, " Sure? ", place=QUESTION, source=source, quote=quote, near=near, author=" "
    )
    assert (note.quote, note.start, note.text, note.author) == (*expected, "Sure?", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "quote", "author", "named"),
    [
        (" \n", "", None, "empty"),
        ("a" * (MAX_NOTE + 1), "", None, "note"),
        ("a", "b" * (MAX_QUOTE + 1), None, "quotation"),
        ("a", "", "c" * 81, "author"),
    ],
)
def test_a_note_that_is_empty_or_too_long_is_refused_and_nothing_is_stored(
    store: SessionStore, session: str, *, text: str, quote: str, author: str | None, named: str
) -> None:
    with pytest.raises(NoteError, match=named):
        Notes(store).write(session, text, place=QUESTION, source="", quote=quote, author=author)
    assert store.notes.of_session(session) == ()


@pytest.mark.slow
def test_a_note_goes_with_its_step_when_the_workflow_is_edited(store: SessionStore, session: str) -> None:
    notes = Notes(store)
    first = revised(store, session, "Find the longest river.", "Check every number in it.")
    place = NotePlace(part="instruction", step=1, revision=first.id)
    on_step = notes.write(session, "Which numbers?", place=place, source="Check every number in it.")
    on_question = notes.write(session, "Vague", place=QUESTION, source="Which?")
    moved = steps("Say hello first.", "Find the longest river.", "Check every number in it.")
    assert notes.by_step(session, first.workflow) == {1: (on_step,), None: (on_question,)}
    assert notes.by_step(session, moved) == {2: (on_step,), None: (on_question,)}
    assert notes.by_step(session, steps("Say hello first.")) == {None: (on_step, on_question)}
