"""What was read is read again only after a write, and then it is."""

from __future__ import annotations

import pytest

from conductor.errors import StorageError
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.store.transactions import MAX_ANSWERS, ReadCache

WORKFLOW = Workflow.of([Step(instruction="Answer.", worker="alpha")])


def cache_and_reader(version):
    """A memory, and a reader that counts how often it is asked."""
    reads = []

    def read():
        reads.append(1)
        return len(reads)

    return ReadCache(version), read


def test_an_answer_lasts_until_the_version_changes() -> None:
    version = [1]
    memory, read = cache_and_reader(lambda: version[0])
    assert [memory.answer("q", read) for _ in range(3)] == [1, 1, 1]
    assert memory.answer("other", read) == 2
    version[0] = 2
    assert [memory.answer("q", read) for _ in range(2)] == [3, 3]


def test_without_a_version_nothing_is_remembered() -> None:
    memory, read = cache_and_reader(lambda: None)
    assert [memory.answer("q", read) for _ in range(3)] == [1, 2, 3]


def test_what_was_written_while_it_was_read_is_read_once_more() -> None:
    version = [1]
    memory, read = cache_and_reader(lambda: version[0])

    def overtaken():
        value = read()
        version[0] += 1
        return value

    assert memory.answer("q", overtaken) == 1
    assert memory.answer("q", read) == 2


def test_a_memory_is_bounded() -> None:
    memory, read = cache_and_reader(lambda: 1)
    for question in range(MAX_ANSWERS + 1):
        memory.answer(question, read)
    assert memory.answer(0, read) == MAX_ANSWERS + 2


def test_a_store_remembers_until_it_writes(store: SessionStore) -> None:
    session = store.sessions.create("why?").id
    first = store.sessions.find(session)
    assert store.sessions.find(session) is first
    store.sessions.rename(session, "other")
    assert store.sessions.find(session).title == "other"
    assert store.revisions.head(session) is None
    revision = store.revisions.add(session, WORKFLOW, origin="import")
    assert store.revisions.head(session) == revision
    assert store.revisions.head(session) is store.revisions.head(session)


def test_a_store_notices_another_programs_writes(store: SessionStore, url: str) -> None:
    session = store.sessions.create("why?").id
    assert store.sessions.find(session).title == "why?"
    with SessionStore.open(url) as other:
        other.sessions.rename(session, "other")
        assert store.sessions.find(session).title == "other"
        other.sessions.rename(session, "third")
    assert store.sessions.find(session).title == "third"


@pytest.mark.slow
def test_a_closed_store_remembers_nothing(url: str) -> None:
    store = SessionStore.open(url)
    session = store.sessions.create("why?").id
    store.sessions.find(session)
    store.close()
    with pytest.raises(StorageError):
        store.sessions.find(session)
