"""An older store is brought up to date whole, or is left as it was, whatever interrupts it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from conductor.errors import StorageError
from storage.database.database import Database
from storage.migrations import OLDEST, bring_up_to_date, newest
from tests.faults.disk import small_disk
from tests.faults.migrations import GOLDEN, NEXT, contents, upgrade
from tests.support.processes.child_process import child
from tests.support.stores.next_revision import scripts_with_next, version_of

ROOT = Path(__file__).parents[2]

_COUNTERS = (*range(24, 28), *range(92, 100))
"""In a file's header: the change counter, the version for which it is valid, and who wrote last."""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The revisions of a version that changes every revision of a session."""
    return scripts_with_next(tmp_path, *NEXT)


def old_store(folder: Path) -> Path:
    """A store as an older version left it, in the journal mode that all versions give their stores."""
    file = folder / "conductor.db"
    shutil.copyfile(GOLDEN, file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    return file


def content(file: Path) -> bytes:
    """All bytes, but for the counters of SQLite's own."""
    body = bytearray(file.read_bytes())
    for at in _COUNTERS:
        body[at] = 0
    return bytes(body)


def copies(file: Path) -> list[Path]:
    """What stands beside the store that was copied from it, whole or not."""
    return sorted(file.parent.glob("conductor.db.*"))


@pytest.mark.slow
def test_the_copy_is_the_store_as_its_version_left_it(tmp_path: Path, scripts: Path) -> None:
    file = old_store(tmp_path)
    before = contents(file)
    upgrade(file, scripts)
    (copy,) = copies(file)
    assert copy.name.startswith(f"conductor.db.version-{OLDEST}.2")
    assert contents(copy) == before
    assert version_of(file) == newest() + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "statements", [("CREATE TABLE sessions (id TEXT)",), ("DELETE FROM events", "nonsense")]
)
def test_a_revision_that_fails_leaves_the_file_byte_for_byte(
    tmp_path: Path, statements: tuple[str, ...]
) -> None:
    file = old_store(tmp_path)
    before = content(file)
    database = Database(f"sqlite:///{file}")
    with pytest.raises(StorageError, match=r"(already exists|syntax error).* is kept"):
        bring_up_to_date(database, now=0.0, scripts=scripts_with_next(tmp_path, *statements))
    database.close()
    assert content(file) == before
    # The copy that was made before the revision failed is whole.
    assert [copy.name for copy in copies(file)] == [f"conductor.db.version-{OLDEST}.19700101T000000"]
    assert contents(copies(file)[0]) == contents(file)


@pytest.mark.slow
def test_a_store_is_not_touched_where_there_is_no_room_for_its_copy(tmp_path: Path, scripts: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        file = old_store(disk.folder)
        before = content(file)
        disk.fill()
        with (disk.folder / "ballast").open("r+b") as ballast:
            # Room for what SQLite needs to open the file, and for half of a copy.
            ballast.truncate((disk.folder / "ballast").stat().st_size - 100_000)
        with pytest.raises(
            StorageError, match=r"It was not changed; make room in that folder, then try again"
        ):
            upgrade(file, scripts)
        assert content(file) == before
        assert copies(file) == []
        disk.free()
        upgrade(file, scripts)
        assert version_of(file) == newest() + 1


@pytest.mark.slow
def test_a_copy_that_a_killed_process_left_unfinished_is_made_again(tmp_path: Path, scripts: Path) -> None:
    file = old_store(tmp_path)
    before = contents(file)
    part = tmp_path / f"conductor.db.version-{OLDEST}.part"
    part.write_bytes(file.read_bytes()[:5000])
    part.with_name(f"{part.name}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    upgrade(file, scripts)
    (copy,) = copies(file)
    assert contents(copy) == before


def test_a_folder_that_takes_no_copy_is_named(tmp_path: Path, scripts: Path) -> None:
    file = old_store(tmp_path)
    before = content(file)
    (tmp_path / f"conductor.db.version-{OLDEST}.part").mkdir()
    with pytest.raises(StorageError, match=r"cannot be copied to .* It was not changed; allow this user"):
        upgrade(file, scripts)
    assert content(file) == before


@pytest.mark.thorough
@pytest.mark.slow
def test_processes_that_open_an_older_store_together_update_it_once(tmp_path: Path, scripts: Path) -> None:
    file = old_store(tmp_path)
    before = contents(file)
    code = (
        "import sys; from pathlib import Path; from tests.faults.migrations import upgrade; "
        "upgrade(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(file), str(scripts)]
    with ExitStack() as stack:
        openers = [stack.enter_context(child(command, env=environment)) for _ in range(3)]
        assert [opener.wait(timeout=60) for opener in openers] == [0, 0, 0]
    (copy,) = copies(file)
    assert contents(copy) == before
    assert version_of(file) == newest() + 1


@pytest.mark.thorough
@pytest.mark.slow
def test_processes_that_make_a_new_store_together_make_it_once(tmp_path: Path) -> None:
    code = "import sys; from storage import SessionStore; SessionStore.open(sys.argv[1]).close()"
    file = tmp_path / "conductor.db"
    command = [sys.executable, "-c", code, f"sqlite:///{file}"]
    with ExitStack() as stack:
        openers = [stack.enter_context(child(command, cwd=ROOT)) for _ in range(3)]
        assert [opener.wait(timeout=60) for opener in openers] == [0, 0, 0]
    assert version_of(file) == newest()
