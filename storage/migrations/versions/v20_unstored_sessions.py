"""Version 20: a session that is not to be stored stays for some minutes, in which its calls are answered."""

import sqlalchemy as sa
from alembic import op

revision = "20"
down_revision = "19"


def upgrade() -> None:
    """Add when a session is removed for good; one of an earlier version has no such time."""
    op.add_column("sessions", sa.Column("expires_at", sa.Double()))
    op.create_index(
        "sessions_expiring",
        "sessions",
        ["expires_at"],
        sqlite_where=sa.text("expires_at IS NOT NULL"),
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
