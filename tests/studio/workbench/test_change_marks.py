"""Marks change wherever what a page shows has changed, by whichever process, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from store_scenario import begin, chain, finished, keep, started

from conductor.planner.offline import OfflineConductor
from conductor.workers.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from storage.workbench import Workbench


@pytest.fixture
def bench(store: SessionStore) -> Iterator[Workbench]:
    pool = Pool(workers=(SimulatedWorker(name="w"),))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        (lambda store, session: store.add_revision(session, chain("b"), origin="human"), False),
        (lambda store, session: store.undo(session), False),
        (lambda store, session: store.rename_session(session, "Another name"), True),
        (lambda store, session: begin(store, session, "r"), True),
        (lambda store, session: store.delete_session(session), True),
    ],
    ids=["edit", "undo", "name", "run", "deletion"],
)
def test_a_change_of_a_session_is_seen_in_its_mark(
    store: SessionStore, bench: Workbench, change: Callable[[SessionStore, str], object], listed: bool
) -> None:
    session, other = store.create_session("q").id, store.create_session("other").id
    for text in ("a", "b"):
        store.add_revision(session, chain(text), origin="human")
    before, beside = bench.marks(session), bench.marks(other)
    assert bench.marks(session) == before
    change(store, session)
    assert bench.marks(session).session != before.session
    assert bench.marks(other).session == beside.session
    assert (bench.marks(session).recent != before.recent) == listed


def test_events_of_a_run_change_nothing_but_its_end_does(store: SessionStore, bench: Workbench) -> None:
    session = store.create_session("q").id
    begin(store, session, "r")
    before = bench.marks(session)
    keep(store, started("r", chain("do")))
    assert bench.marks(session) == before
    keep(store, finished("r", seq=1))
    assert bench.marks(session).session != before.session


def test_another_process_change_is_seen(store: SessionStore, bench: Workbench, url: str) -> None:
    session = store.create_session("q").id
    before = bench.marks(session)
    with SessionStore.open(url) as other:
        other.add_revision(session, chain("a"), origin="human")
    assert bench.marks(session).session != before.session


def test_no_session_and_an_unknown_one_have_marks_too(bench: Workbench) -> None:
    assert (bench.marks(None).session, bench.marks("nowhere").session) == ("", "gone")
