"""Version 23: a rating has the name of who gave it."""

import sqlalchemy as sa
from alembic import op

revision = "23"
down_revision = "21"


def upgrade() -> None:
    """Add the column; who gave the earlier ratings is not known."""
    op.add_column("ratings", sa.Column("author", sa.Text()))
