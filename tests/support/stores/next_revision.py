"""A revision that comes after the newest, for tests of how a store is brought up to date."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from storage.migrations import SCRIPTS, newest


def scripts_with_next(folder: Path, *statements: str, readable_from: int | None = None) -> Path:
    """A copy of the revisions below `folder`, and one more that executes the statements. Programs from that
    version on can use the store then (None: only its own).
    """
    scripts = folder / "100% next"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    version = newest() + 1
    (scripts / "versions" / f"v{version}_next.py").write_text(
        "from alembic import op\n"
        f"revision, down_revision = '{version}', '{version - 1}'\n"
        f"readable_from = '{readable_from or version}'\n\n\n"
        "def upgrade():\n"
        f"    for statement in {statements!r}:\n"
        "        op.execute(statement)\n",
        encoding="utf-8",
    )
    return scripts


def version_of(file: Path) -> int:
    """The version that a SQLite store states."""
    with closing(sqlite3.connect(file)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if "alembic_version" in tables:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        else:
            row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        return int(row[0])
