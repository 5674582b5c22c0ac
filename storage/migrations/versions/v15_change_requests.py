"""What people ask a Conductor to change in words, and what they took of its answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "15"
down_revision = "14"


def upgrade() -> None:
    """Add the table of changes that were asked for."""
    op.create_table(
        "change_requests",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("session", sa.Text, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("revision", sa.Text, sa.ForeignKey("revisions.id"), nullable=False),
        sa.Column("wish", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("author", sa.Text),
        sa.Column("plan", sa.Text, sa.ForeignKey("plans.id")),
        sa.Column("decision", sa.Text),
        sa.Column("chosen", sa.Text, sa.ForeignKey("revisions.id")),
    )
    # Removing a row checks what refers to it.
    for name in ("session", "revision", "plan", "chosen"):
        op.create_index(f"change_requests_by_{name}", "change_requests", [name])
