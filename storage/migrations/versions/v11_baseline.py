"""The tables of version 11, which are those of version 10, too, but for one that only its heartbeats used.

Versions 1 to 10 were numbered in `meta`, before Alembic; a store of version 10 gets its new number and loses
that table.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op
from sqlalchemy import inspect

revision = "11"
down_revision = None

FOLDER = Path(__file__).parent


def upgrade() -> None:
    """Make the tables in an empty database, or take over those of version 10."""
    connection = op.get_bind()
    if not inspect(connection).has_table("sessions"):
        for part in ("tables", connection.dialect.name):
            script = (FOLDER / f"v11_{part}.sql").read_text(encoding="utf-8")
            for statement in script.split(";\n\n"):
                connection.exec_driver_sql(statement)
    connection.exec_driver_sql("DROP TABLE IF EXISTS processes")
    # Programs that know no Alembic read the version here, and refuse the store as newer than they are.
    connection.exec_driver_sql("DELETE FROM meta WHERE key = 'schema_version'")
    connection.exec_driver_sql("INSERT INTO meta (key, value) VALUES ('schema_version', '11')")
