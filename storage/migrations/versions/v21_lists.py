"""Version 21: what sessions are listed by, in the order of the lists, and sums of each session's requests."""

import sqlalchemy as sa
from alembic import op

from storage.migrations import execute_script

revision = "21"
down_revision = "20"

_FILL = (
    "INSERT INTO session_facets (kind, name, evaluated, updated_at, session)"
    " SELECT facets.kind, facets.name, CASE WHEN origin = 'evaluation' THEN 1 ELSE 0 END, updated_at, id"
    " FROM (SELECT 'state' AS kind, state AS name, id AS session FROM sessions"
    " UNION SELECT 'topology', revisions.topology, sessions.id"
    " FROM sessions JOIN revisions ON revisions.id = sessions.head"
    " UNION SELECT 'worker', worker, sessions.id"
    " FROM sessions JOIN revision_workers ON revision_workers.revision = sessions.head"
    " UNION SELECT 'tag', tag, session FROM tags"
    " UNION SELECT 'token', token, session FROM api_requests WHERE token IS NOT NULL) AS facets"
    " JOIN sessions ON sessions.id = facets.session",
    "INSERT INTO session_sums (session, calls, prompt, completion, tokens_unknown, cost, least_cost,"
    " costs_unknown) SELECT session, COUNT(*), COALESCE(SUM(prompt), 0), COALESCE(SUM(completion), 0),"
    " COUNT(*) - COUNT(prompt + completion), COALESCE(SUM(cost), 0.0),"
    " COALESCE(SUM(COALESCE(least_cost, cost)), 0.0), COUNT(*) - COUNT(cost) FROM charges"
    " WHERE session IN (SELECT id FROM sessions) GROUP BY session",
)
_INDEXES = {
    "sessions_listed": "sessions (updated_at, id)"
    " WHERE deleted_at IS NULL AND COALESCE(origin, '') <> 'evaluation'",
    "sessions_evaluated": "sessions (updated_at, id) WHERE deleted_at IS NULL AND origin = 'evaluation'",
    "sessions_by_age": "sessions (created_at, id)",
    "sessions_by_title": "sessions (title) WHERE deleted_at IS NULL",
    "facets_by_session": "session_facets (session, kind, name)",
    "sums_by_tokens": "session_sums ((prompt + completion))",
}
_STORED_WORDS = (
    "ALTER TABLE texts ADD COLUMN words TSVECTOR GENERATED ALWAYS AS (words(text)) STORED",
    "DROP INDEX texts_words",
    "CREATE INDEX texts_words ON texts USING gin (words)",
)
_BEGINNINGS = (
    "DROP TABLE words",
    "CREATE VIRTUAL TABLE words USING fts5 (text, content='texts', content_rowid='id',"
    " tokenize=\"unicode61 remove_diacritics 2\", prefix='2 4')",
    "INSERT INTO words (words) VALUES ('rebuild')",
)


def upgrade() -> None:
    """Add the tables and fill them; PostgreSQL stores the words of each text, SQLite their beginnings."""
    connection = op.get_bind()
    op.create_table(
        "session_facets",
        *(sa.Column(name, sa.Text(), primary_key=True) for name in ("kind", "name")),
        sa.Column("evaluated", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("updated_at", sa.Double(), primary_key=True, autoincrement=False),
        sa.Column("session", sa.Text(), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "session_sums",
        sa.Column("session", sa.Text(), primary_key=True),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("calls", "prompt", "completion", "tokens_unknown", "costs_unknown")
        ),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("cost", "least_cost")),
    )
    for statement in _FILL:
        connection.exec_driver_sql(statement)
    op.drop_index("sessions_listed", "sessions")
    for name, rows in _INDEXES.items():
        connection.exec_driver_sql(f"CREATE INDEX {name} ON {rows}")
    for statement in _STORED_WORDS if connection.dialect.name == "postgresql" else _BEGINNINGS:
        connection.exec_driver_sql(statement)
    execute_script(connection, f"listing_{connection.dialect.name}")
