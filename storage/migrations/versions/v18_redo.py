"""Version 18: a revision remembers which of those made from it an undo left last."""

import sqlalchemy as sa
from alembic import op

revision = "18"
down_revision = "17"


def upgrade() -> None:
    """Add the column; what was undone before is not known."""
    op.add_column("revisions", sa.Column("redo", sa.Text()))
