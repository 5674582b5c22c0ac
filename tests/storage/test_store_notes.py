"""Notes on words of a session: stored with it, found by it, and gone with it."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError, UnknownId, ViewOnly
from storage import SessionFilter, SessionStore
from storage.session_entries import NoteEntry
from tests.support.stores.store_scenario import begin, chain


def note(id: str = "n", **fields: object) -> NoteEntry:
    return NoteEntry.model_validate(
        {"id": id, "part": "question", "text": "Is it <b>right</b>?", "created_at": 0} | fields
    )


def matches(store: SessionStore, words: str) -> int:
    return store.sessions.count(SessionFilter(search=words))


@pytest.mark.slow
def test_a_note_is_listed_until_it_is_deleted_and_again_once_it_is_restored(
    store: SessionStore, session: str
) -> None:
    entry = store.notes.add(session, note(author="Ada", quote="river"))
    assert entry.created_at > 0
    assert store.notes.of_session(session) == (entry,)
    assert matches(store, "right") == 1
    assert store.sessions.snippets([session], "right")[session].kind == "note"
    store.notes.delete(entry.id)
    assert store.notes.of_session(session) == ()
    assert matches(store, "right") == 0
    assert store.notes.find(entry.id).deleted_at is not None
    store.notes.restore(entry.id)
    assert store.notes.of_session(session) == (entry,)
    assert matches(store, "right") == 1


def test_equal_notes_are_found_until_the_last_of_them_is_deleted(store: SessionStore, session: str) -> None:
    for id in ("a", "b"):
        store.notes.add(session, note(id))
    store.notes.delete("a")
    assert matches(store, "right") == 1
    store.notes.delete("b")
    assert matches(store, "right") == 0


@pytest.mark.slow
def test_a_note_is_on_its_own_session_only(store: SessionStore, session: str) -> None:
    other = store.sessions.create("Another").id
    revision = store.revisions.add(other, chain("a"), origin="human")
    begin(store, other, "run")
    for wrong in ({"revision": revision.id}, {"run": "run"}, {"run": "unknown"}, {"revision": "unknown"}):
        with pytest.raises(StorageError):
            store.notes.add(session, note(**wrong))
    with pytest.raises(UnknownId):
        store.notes.add("unknown", note())
    with pytest.raises(UnknownId):
        store.notes.delete("unknown")
    assert store.notes.of_session(session) == ()


def test_watchers_read_notes_and_write_none(store: SessionStore, session: str) -> None:
    entry = store.notes.add(session, note())
    viewed = store.view_only()
    assert viewed.notes.of_session(session) == (entry,)
    for change in (lambda: viewed.notes.add(session, note("m")), lambda: viewed.notes.delete(entry.id)):
        with pytest.raises(ViewOnly):
            change()
    assert store.notes.of_session(session) == (entry,)
