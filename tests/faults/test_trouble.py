"""Full, read-only, locked: shown where it happens, nothing acknowledged is lost, and over when it is over."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from conductor.errors import StorageError
from storage import SessionStore
from storage.database import database
from tests.faults.desk import STEPS, Desk, desk_over
from tests.faults.disk import Disk, page_limit, read_only, small_disk
from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

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
    """Another process holds the store's write lock until the test releases it."""
    with child(
        [sys.executable, "-c", _HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "locked\n"

        def let_go() -> None:
            holder.communicate("\n", timeout=60)

        try:
            yield let_go
        finally:
            if holder.poll() is None:
                let_go()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that meets a lock waits a twentieth of a second."""
    pragmas = tuple(p if "busy_timeout" not in p else "busy_timeout=50" for p in database._WRITER_PRAGMAS)
    monkeypatch.setattr(database, "_WRITER_PRAGMAS", pragmas)


@pytest.fixture(params=[small_disk, page_limit], ids=["a small disk", "a limit of pages"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A place for a store, whose room a test can end."""
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
    assert desk.stored_state == desk.page_state
    assert len(desk.bench.store.runs.outputs(desk.session)) == 3


@pytest.mark.slow
def test_a_run_that_met_a_full_disk_is_whole_when_there_is_room_again(disk: Disk) -> None:
    with desk_over(SessionStore.open(url(disk))) as desk:
        desk.begin()
        disk.fill()
        expect_an_edit_to_be_refused(desk, FULL)
        desk.go_on()
        assert (desk.page_state.status, desk.stored_state.status) == ("finished", "running")
        assert FULL in (desk.unsaved or "")
        disk.free()
        expect_all_to_be_kept(desk)
        desk.bench.editing.edit(desk.session, EDITED, note="Changed")
        desk.bench.running.start(desk.session)
        desk.bench.activities.wait(desk.session)
        assert [step.reused for step in desk.page_state.steps] == [True, True, False]
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


def _fill(store: SessionStore, question: str) -> NoReturn:
    while True:
        store.sessions.create(question)


@pytest.mark.slow
def test_a_store_that_has_no_room_for_a_short_session_is_not_ready_until_it_has(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        spare = disk.folder / "spare"
        spare.write_bytes(bytes(2**19))
        with SessionStore.open(url(disk)) as store:
            for question in ("Long? " * 4_000, "Short?"):
                with pytest.raises(StorageError, match=FULL):
                    _fill(store, question)
            with pytest.raises(StorageError, match=FULL):
                store.check_writable()
            spare.unlink()
            store.check_writable()
            store.sessions.create("Short?")


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


MOVED = "was removed, moved or replaced while this program had it open. Nothing more is written"


def _remove(file: Path, endings: Sequence[str] = ("", "-wal", "-shm")) -> None:
    for ending in endings:
        file.with_name(f"{file.name}{ending}").unlink()


def _empty_log(file: Path) -> None:
    log = file.with_name(f"{file.name}-wal")
    log.unlink()
    log.touch()


def _move(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def _replace(file: Path) -> None:
    copy = file.with_name("copy.db")
    shutil.copyfile(file, copy)
    copy.replace(file)


def _link(file: Path) -> None:
    """The same file elsewhere: SQLite would give it a second log there."""
    elsewhere = file.with_name("elsewhere.db")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lose",
    [
        _remove,
        _move,
        _replace,
        _link,
        partial(_remove, endings=("-wal",)),
        _empty_log,
        partial(_remove, endings=("-shm",)),
        partial(_remove, endings=("-wal", "-shm")),
    ],
)
def test_a_store_whose_file_is_gone_refuses_every_request_and_makes_no_other_file(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    file = tmp_path / "data" / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk:
        store = desk.bench.store
        desk.begin()
        run = desk.run
        assert run is not None
        lose(file)
        left = file.read_bytes() if file.exists() else None
        expect_to_be_refused(desk)
        desk.gated.gate.set()
        until(lambda: desk.bench.unsaved(run) is not None)
        assert MOVED in (desk.bench.unsaved(run) or "")
        expect_to_be_refused(desk)
        # Each reader has a connection of its own, and a new one would make an empty file.
        with ThreadPoolExecutor(8) as readers:
            for listed in [readers.submit(store.sessions.listed) for _ in range(24)]:
                assert MOVED in str(listed.exception(timeout=60))
        assert (file.read_bytes() if file.exists() else None) == left


def expect_to_be_refused(desk: Desk) -> None:
    """What reads and what writes, from the cache of the page, too, and a question of whether it is ready."""
    store = desk.bench.store
    for use in (
        store.sessions.listed,
        partial(store.sessions.find, desk.session),
        partial(store.sessions.rename, desk.session, "Lost"),
        partial(desk.bench.ask, "Lost?"),
        store.check_writable,
    ):
        with pytest.raises(StorageError, match=MOVED):
            use()


@pytest.mark.slow
def test_a_store_behind_a_link_is_used_until_the_link_leads_elsewhere(tmp_path: Path) -> None:
    link, other = tmp_path / "link.db", tmp_path / "other.db"
    link.symlink_to(tmp_path / "real.db")
    with desk_over(SessionStore.open(f"sqlite:///{link}")) as desk:
        assert desk.bench.store.sessions.find(desk.session)
        other.touch()
        link.unlink()
        link.symlink_to(other)
        expect_to_be_refused(desk)


@pytest.mark.slow
def test_a_run_whose_store_was_moved_away_is_whole_when_the_file_is_back(tmp_path: Path) -> None:
    file = tmp_path / "data" / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk:
        desk.begin()
        run = desk.run
        assert run is not None
        _move(file)
        desk.go_on()
        assert MOVED in (desk.bench.unsaved(run) or "")
        assert not file.parent.exists()
        (tmp_path / "elsewhere").rename(tmp_path / "data")
        expect_all_to_be_kept(desk)


@pytest.mark.slow
def test_who_meets_a_short_lock_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "conductor.db"
    with desk_over(SessionStore.open(f"sqlite:///{file}")) as desk, locked(file) as let_go:
        later = desk.bench.background.spawn(_renamed(desk))
        with pytest.raises(TimeoutError):
            later.result(timeout=0.2)
        let_go()
        later.result(timeout=60)
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
            assert (desk.page_state.status, desk.stored_state.status) == ("finished", "running")
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
            until(lambda: desk.page_state.steps[1].output is not None)
            # Asked behind the step's output, which by then was refused as well.
            with pytest.raises(StorageError, match=LOCKED):
                desk.bench.store.sessions.rename(desk.session, "Refused")
        assert desk.stored_state.steps[1].output is None
        desk.last.gate.set()
        desk.bench.activities.wait(desk.session)
        assert desk.unsaved is None
        expect_all_to_be_kept(desk)
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
