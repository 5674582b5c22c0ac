"""What people did with plans and answers."""

from __future__ import annotations

from storage.migrations.migration import Migration

JUDGEMENT: Migration = (
    # What people made of a Conductor's plan, also of the plans that were changed before this was kept.
    """CREATE TABLE corrections (
        revision TEXT PRIMARY KEY REFERENCES revisions (id),
        session TEXT NOT NULL REFERENCES sessions (id),
        plan TEXT NOT NULL REFERENCES plans (id),
        planned TEXT NOT NULL REFERENCES revisions (id),
        created_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX corrections_by_planned ON corrections (planned)",
    """INSERT INTO corrections (revision, session, plan, planned, created_at)
        WITH RECURSIVE line (revision, session, plan, planned, created_at, origin) AS (
            SELECT id, session, plan, id, created_at, 'conductor' FROM revisions WHERE plan IS NOT NULL
            UNION ALL
            SELECT child.id, child.session, line.plan, line.planned, child.created_at, child.origin
            FROM revisions AS child JOIN line ON child.parent = line.revision WHERE child.plan IS NULL
        )
        SELECT revision, session, plan, planned, created_at FROM line WHERE origin = 'human'""",
    """CREATE TABLE ratings (
        run TEXT PRIMARY KEY REFERENCES runs (id),
        thumbs TEXT NOT NULL,
        rated_at DOUBLE PRECISION NOT NULL
    )""",
    "ALTER TABLE plans ADD COLUMN alternative TEXT",
    # Variants of a workflow, run to be compared: runs that ordinary lists leave out.
    """CREATE TABLE experiments (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        number INTEGER NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        base TEXT NOT NULL REFERENCES runs (id),
        experiment TEXT NOT NULL,
        UNIQUE (session, number)
    )""",
    "ALTER TABLE runs ADD COLUMN experiment TEXT REFERENCES experiments (id)",
    "ALTER TABLE runs ADD COLUMN trial INTEGER",
    "CREATE INDEX runs_by_experiment ON runs (experiment) WHERE experiment IS NOT NULL",
)
