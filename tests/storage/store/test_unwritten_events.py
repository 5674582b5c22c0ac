"""Events that the store could not take are kept once, in order, and forgotten only when that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from conductor.runs.events import Event
from storage import SessionStore
from storage.database.database import Database
from storage.store.unwritten_events import UnwrittenEvents
from tests.support.stores.store_scenario import begin, delta, finished, keep


@pytest.fixture
def database(store: SessionStore, url: str) -> Iterator[Database]:
    """The store's database, with a run "r" that has its first event."""
    begin(store, store.sessions.create("q").id, "r")
    keep(store, delta("r", seq=0))
    database = Database(url)
    yield database
    database.close()


def unwritten(*events: Event) -> UnwrittenEvents:
    buffer = UnwrittenEvents()
    buffer.remember(events)
    return buffer


def written(missing: UnwrittenEvents, database: Database, *events: Event) -> Sequence[Event]:
    """What would be written in the place of `events`."""
    with database.transaction(to="write") as connection:
        return missing.with_earlier(connection, events)


def test_what_a_run_misses_goes_before_its_next_event(database: Database) -> None:
    missing = unwritten(delta("r", seq=2), delta("r", seq=1), delta("another", seq=0))
    expected = [delta("r", seq=seq) for seq in (1, 2, 3)]
    assert written(missing, database, delta("r", seq=3)) == expected
    missing.rolled_back()
    assert written(missing, database, delta("r", seq=3)) == expected
    missing.committed()
    assert written(missing, database, delta("r", seq=4)) == (delta("r", seq=4),)
    assert missing, "the other run still misses something"


def test_what_was_committed_although_it_seemed_to_fail_is_not_kept_twice(database: Database) -> None:
    missing = unwritten(delta("r", seq=0), delta("r", seq=1))
    assert written(missing, database, delta("r", seq=2)) == [delta("r", seq=1), delta("r", seq=2)]
    missing.committed()
    assert not missing


def test_an_event_that_is_reported_again_takes_the_place_of_the_lost_one(database: Database) -> None:
    missing = unwritten(delta("r", seq=1, text="old"))
    assert written(missing, database, delta("r", seq=1, text="new")) == [delta("r", seq=1, text="new")]
    missing.committed()
    assert not missing


def test_all_is_kept_with_the_next_write_even_the_end(database: Database, store: SessionStore) -> None:
    missing = unwritten(finished("r", seq=2), delta("r", seq=1))
    with database.transaction(to="write") as connection:
        missing.keep(connection, now=9.0)
    missing.committed()
    assert not missing
    assert [event.seq for event in store.runs.events("r")] == [0, 1, 2]
    assert store.runs.find("r").status == "finished"


def test_what_a_run_misses_that_is_over_is_forgotten(database: Database, store: SessionStore) -> None:
    keep(store, finished("r", seq=1))
    missing = unwritten(delta("r", seq=2))
    with database.transaction(to="write") as connection:
        missing.keep(connection, now=9.0)
    missing.committed()
    assert not missing
    assert len(store.runs.events("r")) == 2
