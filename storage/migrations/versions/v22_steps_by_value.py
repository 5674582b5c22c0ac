"""Version 22: SQLite reads each step of a workflow by itself, not the whole workflow for each."""

from alembic import op

revision = "22"
down_revision = "21"

_STEPS = r"""CREATE VIEW revision_steps AS
SELECT revisions.id AS revision, session,
    json_extract(step.value, '$.worker') AS worker,
    json_extract(replace(step.value, '\u0000', '\ufffd'), '$.instruction') AS instruction
FROM revisions, json_each(CASE WHEN json_valid(workflow) THEN workflow END, '$.steps') AS step
WHERE step.type = 'object'"""


def upgrade() -> None:
    """Make the view again; PostgreSQL's reads each step once."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DROP VIEW revision_steps")
        connection.exec_driver_sql(_STEPS)
