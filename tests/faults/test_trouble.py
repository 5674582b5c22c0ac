"""Full, read-only, locked: said where it happens, nothing acknowledged is lost, and over when it is over."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conductor.errors import StorageError
from storage import SessionStore
from storage.database import database
from tests.faults.desk import STEPS, Desk, desk_over, wait
from tests.faults.disk import Disk, page_limit, read_only, small_disk

FULL = "is full: its disk has no room left. What was saved before is kept; free some space"
LOCKED = "is locked by another program. What was saved before is kept; close that program"
EDITED = STEPS.with_instruction(2, "Say it in one word.")

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
print("free", flush=True)
"""


@contextmanager
def locked(file: Path) -> Iterator[Callable[[], None]]:
    """Another process holds the store's write lock until it is told to let go."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "locked\n"

        def let_go() -> None:
            holder.communicate("\n", timeout=20)

        try:
            yield let_go
        finally:
            if holder.poll() is None:
                let_go()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever meets a lock waits a twentieth of a second."""
    pragmas = tuple(p if "busy_timeout" not in p else "busy_timeout=50" for p in database._WRITER_PRAGMAS)
    monkeypatch.setattr(database, "_WRITER_PRAGMAS", pragmas)


@pytest.fixture(params=[small_disk, page_limit], ids=["a small disk", "a limit of pages"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """Where a store has no more room when it is told so."""
    with request.param(tmp_path / "disk") as disk:
        yield disk


def url(disk: Disk) -> str:
    return f"sqlite:///{disk.folder}/conductor.db"


def expect_an_edit_to_be_refused(desk: Desk, expected: str) -> None:
    """With that sentence; the workflow stays what it was."""
    head = desk.bench.required_head(desk.session)
    long = head.workflow.with_instruction(0, "Find it. " * 5_000)
    with pytest.raises(StorageError, match=expected):
        desk.bench.editing.edit(desk.session, long, note="Too long")
    assert desk.bench.required_head(desk.session) == head


def expect_all_to_be_kept(desk: Desk) -> None:
    """The run as it was shown, without anybody having run it again."""
    desk.bench.store.processes.mark_interrupted()
    desk.bench.store.sessions.rename(desk.session, "Written after the trouble")
    assert desk.run is not None
    assert (desk.run.status, desk.unsaved) == ("finished", None)
    assert desk.kept == desk.shown
    assert len(desk.bench.store.runs.outputs(desk.session)) == 3


@pytest.mark.slow
def test_a_run_that_met_a_full_disk_is_whole_when_there_is_room_again(disk: Disk) -> None:
    with desk_over(SessionStore.open(url(disk))) as desk:
        desk.begin()
        disk.fill()
        expect_an_edit_to_be_refused(desk, FULL)
        desk.go_on()
        assert (desk.shown.status, desk.kept.status) == ("finished", "running")
        assert FULL in (desk.unsaved or "")
        disk.free()
        expect_all_to_be_kept(desk)
        desk.bench.editing.edit(desk.session, EDITED, note="Changed")
        desk.bench.running.start(desk.session)
        desk.bench.activities.wait(desk.session)
        assert [step.reused for step in desk.shown.steps] == [True, True, False]
    with SessionStore.open(url(disk)) as store:
        assert [run.status for run in store.runs.of_session(desk.session)] == ["finished", "finished"]
        assert store.revisions.head(desk.session).workflow == EDITED


@pytest.mark.slow
def test_a_store_on_a_full_disk_is_read_and_closed_without_loss(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        with desk_over(SessionStore.open(url(disk))) as desk:
            desk.begin()
            disk.fill()
            desk.go_on()
            assert [summary.id for summary in desk.bench.store.sessions.listed()] == [desk.session]
        disk.free()
        with SessionStore.open(url(disk)) as store:
            # It was closed before there was room: what the run gave after that is not known here.
            assert len(store.runs.outputs(desk.session)) == 1
            assert [revision.workflow for revision in store.revisions.of_session(desk.session)] == [STEPS]


@pytest.mark.slow
def test_a_store_that_turns_read_only_refuses_changes_until_it_can_be_written(tmp_path: Path) -> None:
    with page_limit(tmp_path / "disk") as disk, desk_over(SessionStore.open(url(disk))) as desk:
        desk.begin()
        disk.forbid()
        expect_an_edit_to_be_refused(desk, "cannot be written. What was saved before is kept")
        desk.go_on()
        assert "cannot be written" in (desk.unsaved or "")
        disk.allow()
        expect_all_to_be_kept(desk)
        desk.bench.editing.edit(desk.session, EDITED, note="Changed")


@pytest.mark.slow
def test_a_store_on_a_read_only_disk_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        with desk_over(SessionStore.open(url(disk))) as desk:
            before = desk.bench.required_head(desk.session)
        with (
            read_only(disk),
            pytest.raises(StorageError, match=r"conductor\.db cannot be (written|opened)\."),
        ):
            SessionStore.open(url(disk))
        with SessionStore.open(url(disk)) as store:
            assert store.revisions.head(desk.session) == before


@pytest.mark.slow
def test_whoever_meets_a_short_lock_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk, locked(file) as let_go:
        later = desk.bench.background.spawn(_renamed(desk))
        with pytest.raises(TimeoutError):
            later.result(timeout=0.2)
        let_go()
        later.result(timeout=20)
        assert desk.bench.store.sessions.find(desk.session).title == "Renamed"


async def _renamed(desk: Desk) -> None:
    await asyncio.to_thread(desk.bench.store.sessions.rename, desk.session, "Renamed")


@pytest.mark.slow
def test_a_run_that_met_a_long_lock_goes_on_and_is_whole_when_it_is_over(
    tmp_path: Path, impatient: None
) -> None:
    file = tmp_path / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk:
        desk.begin()
        with locked(file):
            expect_an_edit_to_be_refused(desk, LOCKED)
            desk.go_on()
            assert (desk.shown.status, desk.kept.status) == ("finished", "running")
            assert LOCKED in (desk.unsaved or "")
        expect_all_to_be_kept(desk)


@pytest.mark.slow
def test_what_met_a_lock_in_the_middle_of_a_run_is_kept_with_what_follows(
    tmp_path: Path, impatient: None
) -> None:
    file = tmp_path / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk:
        desk.begin()
        with locked(file):
            desk.last.gate.clear()
            desk.gated.gate.set()
            wait(lambda: desk.shown.steps[1].output is not None)
            # Asked behind the step's output, which by then was refused as well.
            with pytest.raises(StorageError, match=LOCKED):
                desk.bench.store.sessions.rename(desk.session, "Refused")
        assert desk.kept.steps[1].output is None
        desk.last.gate.set()
        desk.bench.activities.wait(desk.session)
        assert desk.unsaved is None
        expect_all_to_be_kept(desk)
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
