"""A store that another version's own code wrote is read, edited and run again by this version."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import Session, SessionFilter, SessionStore
from storage.migrations import OLDEST, newest
from studio.workbench import Workbench
from tests.support.stores.store_scenario import by_fingerprint

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(int(file.stem.removeprefix("version-")) for file in GOLDEN.glob("version-*.db"))

INTERRUPTED = "What was going on when the power failed?"
CORRECTED = "Seventeen times “twenty-three”"

Rows = dict[str, list[dict[str, object]]]


@pytest.fixture(params=VERSIONS, ids=lambda version: f"version {version}")
def old(request: pytest.FixtureRequest, file: Path) -> Path:
    """A copy of that version's file, where the store is expected."""
    file.parent.mkdir()
    shutil.copyfile(GOLDEN / f"version-{request.param}.db", file)
    return file


@pytest.fixture
def bench(old: Path, url: str) -> Iterator[Workbench]:
    """A workbench over that file, with the workers that its runs were made with."""
    quick = SimulatedWorker(name="quick", tokens=8)
    broken = SimulatedWorker(name="broken", tokens=8, fail_on="break")
    others = tuple(SimulatedWorker(name=name, tokens=8) for name in ("facts", "text", "checker"))
    pool = Pool(workers=(Calculator("mathematics"), *others, quick, broken))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    yield bench
    bench.close()


def rows(file: Path) -> Rows:
    """All that the tables hold, by name of table and column."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]
            for (name,) in map(tuple, tables)
        }


def sessions(store: SessionStore, file: Path) -> dict[str, Session]:
    """Every session by its title, those that are deleted included."""
    entries = [store.sessions.find(str(row["id"])) for row in rows(file)["sessions"]]
    return {session.title: session for session in entries}


def test_there_is_a_file_of_every_version_that_is_read() -> None:
    assert list(range(OLDEST, newest() + 1)) == VERSIONS, (
        "make the file with tests/storage/golden/make.py, by that version's own code"
    )


REPLACED = {"runs": {"tokens"}, "api_spending": {"tokens", "cost", "unknown_tokens", "unknown_costs"}}
"""Columns that the ledger of version 19 has in their place."""


def test_nothing_that_an_older_version_wrote_is_lost_or_changed(old: Path, url: str) -> None:
    before = rows(old)
    SessionStore.open(url).close()
    after = rows(old)
    # The index of words is made again, with the beginnings of words in it.
    own = {table for table in before if not table.startswith("words")}
    for table in own - {"meta", "alembic_version"}:
        columns = before[table][0].keys() - REPLACED.get(table, set()) if before[table] else ()
        old_rows, new_rows = (
            [{name: row[name] for name in columns} for row in tables[table]] for tables in (before, after)
        )
        assert new_rows == old_rows
    assert after["alembic_version"] == [{"version_num": str(newest())}]


def test_every_entry_of_an_older_store_is_read(bench: Workbench, old: Path) -> None:
    store, tables = bench.store, rows(old)
    listed = store.sessions.count() + store.sessions.count(SessionFilter(evaluated=True))
    assert listed == len([row for row in tables["sessions"] if row["deleted_at"] is None])
    for session in sessions(store, old).values():
        revisions, runs = store.revisions.of_session(session.id), store.runs.of_session(session.id)
        assert session.head in [revision.id for revision in revisions]
        assert {revision.plan for revision in revisions} - {None} <= {
            str(row["id"]) for row in tables["plans"]
        }
        assert all(plan.session == session.id for plan in store.plans.of_session(session.id))
        outputs = by_fingerprint(store.runs.outputs(session.id))
        for run in runs:
            state = bench.state(run)
            assert (state.status, state.answer) == (run.status, run.answer)
            for step in state.steps:
                assert step.output is None or step.output.fingerprint in outputs
    assert len(list(store.corrections.read(every=True))) == len(tables["corrections"]) > 0


def test_the_runs_of_an_older_store_read_the_same_after_packing(url: str, old: Path) -> None:
    with SessionStore.open(url) as store:
        runs = [str(row["id"]) for row in rows(old)["runs"]]
        events = [store.runs.events(run) for run in runs]
        for run in runs:
            store.runs.pack(run)
        # What is written later waits for it.
        store.sessions.create("another")
        assert [store.runs.events(run) for run in runs] == events


def test_an_older_store_is_edited_and_run_again(bench: Workbench, old: Path) -> None:
    session = sessions(bench.store, old)[CORRECTED].id
    head = bench.required_head(session)
    edited = head.workflow.with_instruction(0, "Compute it in one line.")
    assert bench.editing.edit(session, edited, note="Changed", head=head).parent == head.id
    assert run(bench, session) == "finished"
    assert bench.store.revisions.undo(session) == head
    bench.store.sessions.restore(sessions(bench.store, old)["To be thrown away"].id)


def test_a_run_that_an_older_version_was_torn_from_calls_all_steps_and_states_why(
    bench: Workbench, old: Path, request: pytest.FixtureRequest
) -> None:
    session = sessions(bench.store, old)[INTERRUPTED].id
    (record,) = bench.store.runs.of_session(session)
    assert record.status == "interrupted"
    head = bench.required_head(session)
    bench.editing.edit(session, head.workflow.with_worker(2, "quick"), note="Changed", head=head)
    sentence = bench.running.outlook(session).sentence
    is_comparable = "version 16" not in request.node.name
    assert sentence.startswith("1 of 3 steps will run, 2 reused" if is_comparable else "All 3 steps will run")
    assert sentence.count("earlier version") == (not is_comparable)
    assert run(bench, session) == "finished"
    assert reused(bench, session) == ([0, 1] if is_comparable else [])
    assert bench.running.outlook(session).calls == "no step"


def run(bench: Workbench, session: str) -> str:
    """Run the current workflow; how that ended."""
    bench.running.start(session)
    bench.activities.wait(session)
    return str(bench.store.runs.of_session(session)[0].status)


def reused(bench: Workbench, session: str) -> Sequence[int]:
    """The steps whose worker was not called in the newest run."""
    state = bench.state(bench.store.runs.of_session(session)[0])
    return [at for at, step in enumerate(state.steps) if step.reused]
