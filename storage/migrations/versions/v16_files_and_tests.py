"""Questions that a team keeps as tests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "16"
down_revision = "15"


def upgrade() -> None:
    """Add the table of the team's tests."""
    # `origin` and `origin_run` are no foreign keys: a test outlives what it was kept from.
    op.create_table(
        "team_tests",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("data_set", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("accepted", sa.Text, nullable=False),
        sa.Column("scorer", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("origin", sa.Text),
        sa.Column("origin_run", sa.Text),
        sa.Column("author", sa.Text),
    )
    op.create_index("team_tests_by_question", "team_tests", ["data_set", "digest"], unique=True)
    op.create_index("team_tests_by_digest", "team_tests", ["digest"])
