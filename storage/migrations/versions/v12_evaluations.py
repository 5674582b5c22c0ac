"""Evaluations: their items, and a cell for each item, planner and repeat."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "12"
down_revision = "11"


def upgrade() -> None:
    """Add the tables of evaluations."""
    op.create_table(
        "evaluations",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("reason", sa.Text),
    )
    op.create_table(
        "evaluation_items",
        sa.Column("evaluation", sa.Text, sa.ForeignKey("evaluations.id"), primary_key=True),
        sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "evaluation_cells",
        sa.Column("evaluation", sa.Text, sa.ForeignKey("evaluations.id"), primary_key=True),
        sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("planner", sa.Text, primary_key=True),
        sa.Column("repeat", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("answered_in", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
    )
    op.create_index("evaluation_cells_by_session", "evaluation_cells", ["answered_in"])
