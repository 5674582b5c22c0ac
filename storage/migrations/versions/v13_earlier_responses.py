"""The responses to earlier requests of a session, which went on with the results of tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "13"
down_revision = "12"


def upgrade() -> None:
    """Add their table."""
    op.create_table(
        "api_earlier_responses",
        sa.Column("session", sa.Text, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("answer", sa.Text, primary_key=True),
        sa.Column("response", sa.Text, nullable=False),
    )
