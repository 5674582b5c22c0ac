"""Kills during migrations: a store is of its old version or of the new one, whole either way.

Begins with the golden file that the code of its version wrote, with some thousand revisions more, so that
copying and changing it takes a while; the new version is a revision that changes each of them.
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

import alembic.command  # noqa: F401 - else the first upgrade, which is timed, imports it

from storage.database.database import Database
from storage.migrations import OLDEST, bring_up_to_date, newest
from tests.faults.ledger import Ledger
from tests.faults.victim import Say, Work, killed
from tests.support.stores.next_revision import scripts_with_next, version_of

GOLDEN = Path(__file__).parents[1] / "storage" / "golden" / f"version-{OLDEST}.db"

NEXT = ("ALTER TABLE revisions ADD COLUMN colour TEXT", "UPDATE revisions SET colour = 'red'")

SPAN = 2.5
"""The time within which a process is killed, in multiples of what a migration takes in one that is warm."""

_MORE = """
INSERT INTO revisions SELECT * FROM (
    WITH RECURSIVE more (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM more WHERE number < {count})
    SELECT {columns} FROM more, (SELECT * FROM revisions WHERE origin = 'conductor' LIMIT 1) AS first
)"""

Contents = dict[str, list[tuple[object, ...]]]
"""The rows of each table, as one version had them."""


def work(say: Say, file: str, scripts: str) -> None:
    """Bring an older store up to date, and wait to be killed."""
    upgrade(Path(file), Path(scripts))
    say(opened=True)
    threading.Event().wait()


def upgrade(file: Path, scripts: Path) -> None:
    """Bring a store up to date, as opening it does."""
    with closing(Database(f"sqlite:///{file}")) as database:
        bring_up_to_date(database, now=time.time(), scripts=scripts)


@dataclass
class Migrations:
    """Each kill has a file of its own. `revisions` is how many are added to what the golden file holds."""

    folder: Path
    work: Work = work
    revisions: int = 4000
    ledger: Ledger = field(default_factory=lambda: Ledger("migrations"))

    def __post_init__(self) -> None:
        self.scripts = scripts_with_next(self.folder, *NEXT)
        self.original = self.folder / "original.db"
        shutil.copyfile(GOLDEN, self.original)
        _lengthen(self.original, self.revisions)
        migrated = self.folder / "migrated.db"
        shutil.copyfile(self.original, migrated)
        began = time.perf_counter()
        upgrade(migrated, self.scripts)
        self.seconds = time.perf_counter() - began
        self.old, self.new = contents(self.original), contents(migrated)

    def kill(self, rng: Random) -> None:
        """Kill once; then the file is the one or the other, and opens as if nothing had been."""
        folder = self.folder / f"kill-{self.ledger.kills}"
        folder.mkdir()
        file = folder / "conductor.db"
        shutil.copyfile(self.original, file)
        reported = killed(self.work, str(file), str(self.scripts), after=rng.uniform(0, SPAN * self.seconds))
        self.ledger.kills += 1
        version = version_of(file)
        if reported:
            self.ledger.check(version == newest() + 1, "a store that was opened is not of the new version")
        expected = {OLDEST: self.old, newest() + 1: self.new}.get(version)
        self.ledger.require(expected is not None, f"the store is of version {version}, between the two")
        self.ledger.check(contents(file) == expected, f"the store of version {version} is not whole")
        upgrade(file, self.scripts)
        self.ledger.restarts += 1
        self.ledger.unfinished += version == OLDEST
        self.ledger.check(contents(file) == self.new, "the store opened again is not what it would have been")
        for copy in folder.glob(f"conductor.db.version-{OLDEST}.2*"):
            self.ledger.check(contents(copy) == self.old, f"the copy {copy.name} is not whole")
        shutil.rmtree(folder)

    def finish(self) -> None:
        """Nothing stays open."""


def contents(file: Path) -> Contents:
    """All rows of all tables, and the statements that made the tables; raises where the file is damaged."""
    with _reading(file) as connection:
        damage = connection.execute("PRAGMA integrity_check").fetchall()
        assert damage == [("ok",)], damage
        statement = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        names = [name for (name,) in tables.fetchall()]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        return {name: sorted(records, key=repr) for name, records in rows.items()} | {
            "": connection.execute(statement).fetchall()
        }


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
