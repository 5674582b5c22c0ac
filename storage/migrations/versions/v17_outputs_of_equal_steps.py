"""Version 17: equal steps have an output each. Until then there was one under each fingerprint."""

import sqlalchemy as sa
from alembic import op

revision = "17"
down_revision = "16"


def upgrade() -> None:
    """Add to the key of an output the run and the step that gave it; earlier ones have neither."""
    op.rename_table("outputs", "outputs_16")
    op.create_table(
        "outputs",
        sa.Column("session", sa.Text(), sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("fingerprint", sa.Text(), primary_key=True),
        sa.Column("run", sa.Text(), primary_key=True),
        sa.Column("step", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=False),
    )
    op.execute("INSERT INTO outputs SELECT session, fingerprint, '', 0, output, 0 FROM outputs_16")
    op.drop_table("outputs_16")
