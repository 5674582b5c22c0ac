"""Version 22: limits of people, and what is left of the rates of tokens and people."""

import sqlalchemy as sa
from alembic import op

revision = "22"
down_revision = "21"


def upgrade() -> None:
    """Add the tables, with nothing in them: no one had a limit, and every rate begins full."""
    op.create_table(
        "people_limits",
        sa.Column("person", sa.Text(), primary_key=True),
        sa.Column("limits", sa.Text(), nullable=False),
    )
    op.create_table(
        "rates",
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("token", "person")),
        *(sa.Column(name, sa.Double()) for name in ("requests", "tokens")),
        sa.Column("at", sa.Double(), nullable=False),
        sqlite_with_rowid=False,
    )
