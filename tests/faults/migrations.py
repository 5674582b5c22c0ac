"""Kills amid migrations: a store is of its old version or of the new one, whole either way.

Begins with the golden files that the code of each version wrote, with some thousand revisions more, so that
copying and changing them takes a while.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from storage import SessionStore
from storage.migrations import MIGRATIONS
from tests.faults.ledger import Ledger
from tests.faults.victim import Say, Work, killed

GOLDEN = Path(__file__).parents[1] / "storage" / "golden"

SPAN = 2.5
"""The time within which a process is killed, in multiples of what a migration takes in one that is warm."""

_MORE = """
INSERT INTO revisions SELECT * FROM (
    WITH RECURSIVE more (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM more WHERE number < {count})
    SELECT {columns} FROM more, (SELECT * FROM revisions WHERE origin = 'conductor' LIMIT 1) AS first
)"""

Contents = dict[str, list[tuple[object, ...]]]
"""The rows of each table, as one version had them."""


def work(say: Say, file: str) -> None:
    """Open an older store, which brings it up to date, and wait to be killed."""
    SessionStore.open(f"sqlite:///{file}")
    say(opened=True)
    threading.Event().wait()


def old_versions() -> dict[int, Path]:
    """The golden files of all versions but the newest."""
    files = {int(file.stem.removeprefix("version-")): file for file in GOLDEN.glob("version-*.db")}
    return {version: file for version, file in sorted(files.items()) if version < len(MIGRATIONS)}


@dataclass
class Migrations:
    """Each kill has a file of its own. `revisions` is how many are added to what the golden files hold."""

    folder: Path
    work: Work = work
    revisions: int = 4000
    ledger: Ledger = field(default_factory=lambda: Ledger("migrations"))
    _made: dict[int, tuple[Path, Contents, Contents, float]] = field(default_factory=dict)

    def kill(self, rng: Random) -> None:
        """Kill once; then the file is the one or the other, and opens as if nothing had been."""
        version = rng.choice(list(old_versions()))
        original, old, new, seconds = self._prepared(version)
        folder = self.folder / f"kill-{self.ledger.kills}"
        folder.mkdir()
        file = folder / "conductor.db"
        shutil.copyfile(original, file)
        said = killed(self.work, str(file), after=rng.uniform(0, SPAN * seconds))
        self.ledger.kills += 1
        found = version_of(file)
        if said:
            self.ledger.check(found == len(MIGRATIONS), "a store that was opened is not of the new version")
        expected = {version: old, len(MIGRATIONS): new}.get(found)
        self.ledger.require(expected is not None, f"the store is of version {found}, between the two")
        self.ledger.check(contents(file) == expected, f"the store of version {found} is not whole")
        SessionStore.open(f"sqlite:///{file}").close()
        self.ledger.restarts += 1
        self.ledger.unfinished += found == version
        self.ledger.check(contents(file) == new, "the store opened again is not what it would have been")
        for copy in folder.glob(f"conductor.db.version-{version}.*"):
            self.ledger.check(contents(copy) == old, f"the copy {copy.name} is not whole")
        shutil.rmtree(folder)

    def finish(self) -> None:
        """Nothing stays open."""

    def _prepared(self, version: int) -> tuple[Path, Contents, Contents, float]:
        """A longer file of that version, what it holds, what it holds once it is up to date, and the seconds
        which that takes.
        """
        if version not in self._made:
            file = self.folder / f"version-{version}.db"
            shutil.copyfile(old_versions()[version], file)
            _lengthen(file, self.revisions)
            migrated = self.folder / f"migrated-{version}.db"
            shutil.copyfile(file, migrated)
            began = time.perf_counter()
            SessionStore.open(f"sqlite:///{migrated}").close()
            seconds = time.perf_counter() - began
            self._made[version] = file, contents(file), contents(migrated), seconds
        return self._made[version]


def contents(file: Path) -> Contents:
    """All rows of all tables, and the statements that made the tables; raises where the file is damaged."""
    with _reading(file) as connection:
        damage = connection.execute("PRAGMA integrity_check").fetchall()
        assert damage == [("ok",)], damage
        made = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        names = [name for (name,) in tables.fetchall()]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        return {name: sorted(found, key=repr) for name, found in rows.items()} | {
            "": connection.execute(made).fetchall()
        }


def version_of(file: Path) -> int:
    """What the file says of itself."""
    with _reading(file) as connection:
        found = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        return int(found[0])


def _lengthen(file: Path, count: int) -> None:
    """Add revisions below the first that a Conductor planned."""
    with closing(sqlite3.connect(file)) as connection, connection:
        names = [column[1] for column in connection.execute("PRAGMA table_info(revisions)")]
        other = {"id": "'more-' || more.number", "number": "1000 + more.number", "parent": "first.id"}
        other |= {"origin": "'human'", "plan": "NULL"}
        columns = ", ".join(other.get(name, f"first.{name}") for name in names)
        connection.execute(_MORE.format(count=count, columns=columns))


@contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file)) as connection:
        yield connection
