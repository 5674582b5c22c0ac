"""Version 22: for a team. Limits of people, what is left of rates, sums of the ledger in parts, so that
processes which write at the same time need not wait for one another, and who gave a rating.
"""

import sqlalchemy as sa
from alembic import op

from storage.migrations import execute_script

revision = "22"
down_revision = "21"
readable_from = "21"

_COUNTS = ("calls", "prompt", "completion", "tokens_unknown", "costs_unknown", "charged_tokens")
_AMOUNTS = ("cost", "least_cost", "charged_cost")
_COPY = (
    "INSERT INTO usage_sums SELECT quarter, worker, kind, token, person, 0, calls, prompt, completion,"
    " tokens_unknown, costs_unknown, charged_tokens, cost, least_cost, charged_cost FROM earlier_sums"
)
_STEPS = r"""CREATE VIEW revision_steps AS
SELECT revisions.id AS revision, session,
    json_extract(step.value, '$.worker') AS worker,
    json_extract(replace(step.value, '\u0000', '\ufffd'), '$.instruction') AS instruction
FROM revisions, json_each(CASE WHEN json_valid(workflow) THEN workflow END, '$.steps') AS step
WHERE step.type = 'object'"""
_SERVER = (
    "DROP TRIGGER charges_summed ON charges",
    "DROP FUNCTION charge_summed",
    "ALTER TABLE usage_sums ADD COLUMN part INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE usage_sums DROP CONSTRAINT usage_sums_pkey",
    "ALTER TABLE usage_sums ADD PRIMARY KEY (quarter, worker, kind, token, person, part)",
)


def upgrade() -> None:
    """Add tables with nothing in them, and who rated, which is not known of earlier ratings. SQLite reads
    each step of a workflow by itself, in place of the whole workflow for each.
    """
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
    op.add_column("ratings", sa.Column("author", sa.Text()))
    _add_parts()
    op.create_index("usage_sums_by_person", "usage_sums", ["person", "quarter"])
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DROP VIEW revision_steps")
        connection.exec_driver_sql(_STEPS)


def _add_parts() -> None:
    """Add the part to the key of sums; what is there is part 0."""
    connection = op.get_bind()
    if "part" in {column["name"] for column in sa.inspect(connection).get_columns("usage_sums")}:
        return
    if connection.dialect.name == "postgresql":
        for statement in _SERVER:
            connection.exec_driver_sql(statement)
    else:
        _make_again(connection)
    execute_script(connection, f"ledger_{connection.dialect.name}")


def _make_again(connection: sa.Connection) -> None:
    """Make the table again, since SQLite changes no key."""
    connection.exec_driver_sql("DROP TRIGGER charges_summed")
    op.rename_table("usage_sums", "earlier_sums")
    op.drop_index("usage_sums_by_token", "earlier_sums")
    op.create_table(
        "usage_sums",
        sa.Column("quarter", sa.BigInteger(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("worker", "kind", "token", "person")),
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False, server_default=sa.text("0")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _COUNTS),
        *(sa.Column(name, sa.Double(), nullable=False) for name in _AMOUNTS),
        sqlite_with_rowid=False,
    )
    connection.exec_driver_sql(_COPY)
    op.drop_table("earlier_sums")
    op.create_index("usage_sums_by_token", "usage_sums", ["token", "quarter"])
