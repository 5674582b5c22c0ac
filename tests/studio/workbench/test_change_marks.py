"""Marks change wherever what a page shows has changed, by whichever process, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.session_entries import NoteEntry
from studio.workbench import Workbench, marks
from tests.support.stores.store_scenario import begin, chain, finished, keep, started

pytestmark = pytest.mark.slow

NOTE = NoteEntry(id="n", part="question", text="Vague", created_at=0)


@pytest.fixture
def bench(store: SessionStore) -> Iterator[Workbench]:
    pool = Pool(workers=(SimulatedWorker(name="w"),))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        (lambda store, session: store.revisions.add(session, chain("b"), origin="human"), False),
        (lambda store, session: store.revisions.undo(session), False),
        (lambda store, session: store.sessions.rename(session, "Another name"), True),
        (lambda store, session: begin(store, session, "r"), True),
        (lambda store, session: store.notes.add(session, NOTE), False),
        (lambda store, session: store.sessions.delete(session), True),
    ],
    ids=["edit", "undo", "name", "run", "note", "deletion"],
)
def test_a_change_of_a_session_is_seen_in_its_mark(
    store: SessionStore, bench: Workbench, change: Callable[[SessionStore, str], object], listed: bool
) -> None:
    session, other = store.sessions.create("q").id, store.sessions.create("other").id
    for text in ("a", "b"):
        store.revisions.add(session, chain(text), origin="human")
    before, beside = marks(bench, session), marks(bench, other)
    assert marks(bench, session) == before
    change(store, session)
    assert marks(bench, session).session != before.session
    assert marks(bench, other).session == beside.session
    assert (marks(bench, session).recent != before.recent) == listed


def test_events_of_a_run_change_nothing_but_its_end_does(store: SessionStore, bench: Workbench) -> None:
    session = store.sessions.create("q").id
    begin(store, session, "r")
    before = marks(bench, session)
    keep(store, started("r", chain("do")))
    assert marks(bench, session) == before
    keep(store, finished("r", seq=1))
    assert marks(bench, session).session != before.session


def test_another_process_change_is_seen(store: SessionStore, bench: Workbench, url: str) -> None:
    session = store.sessions.create("q").id
    before = marks(bench, session)
    with SessionStore.open(url) as other:
        other.revisions.add(session, chain("a"), origin="human")
    assert marks(bench, session).session != before.session


def test_no_session_and_an_unknown_one_have_marks_too(bench: Workbench) -> None:
    assert (marks(bench, None).session, marks(bench, "nowhere").session) == ("", "gone")
