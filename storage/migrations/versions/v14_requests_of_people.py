"""What people write beside a workflow: notes on words, which sessions are found by."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "14"
down_revision = "13"

FOLDER = Path(__file__).parent


def upgrade() -> None:
    """Add the table of notes, and their texts to the search."""
    op.create_table(
        "notes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("session", sa.Text, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revision", sa.Text, sa.ForeignKey("revisions.id")),
        sa.Column("run", sa.Text, sa.ForeignKey("runs.id")),
        sa.Column("step", sa.Integer),
        sa.Column("start", sa.Integer),
        sa.Column("author", sa.Text),
        sa.Column("deleted_at", sa.Double),
    )
    # Removing a row checks what refers to it.
    for name in ("session", "revision", "run"):
        op.create_index(f"notes_by_{name}", "notes", [name])
    connection = op.get_bind()
    script = (FOLDER / f"v14_{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in script.split(";\n\n"):
        connection.exec_driver_sql(statement)
