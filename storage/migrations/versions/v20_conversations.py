"""Version 20: a session that is not to be stored stays for some minutes, in which its calls are answered; the
turns of a conversation with a worker are found by digests of its messages.
"""

import sqlalchemy as sa
from alembic import op

revision = "20"
down_revision = "19"


def upgrade() -> None:
    """Add when a session is removed for good, and the digests; earlier sessions have neither."""
    op.add_column("sessions", sa.Column("expires_at", sa.Double()))
    op.create_index(
        "sessions_expiring",
        "sessions",
        ["expires_at"],
        sqlite_where=sa.text("expires_at IS NOT NULL"),
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
    op.create_table(
        "api_conversations",
        sa.Column("digest", sa.Text(), primary_key=True),
        sa.Column("session", sa.Text(), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("api_conversations_by_session", "api_conversations", ["session"])
