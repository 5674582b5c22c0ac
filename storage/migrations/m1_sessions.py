"""Sessions with their plans, revisions, runs, events and outputs."""

from __future__ import annotations

from storage.migrations.migration import Migration

SESSIONS: Migration = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        query TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        updated_at DOUBLE PRECISION NOT NULL,
        pool_label TEXT,
        head TEXT,
        state TEXT NOT NULL,
        deleted_at DOUBLE PRECISION
    )""",
    """CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        number INTEGER NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        planner TEXT NOT NULL,
        planner_kind TEXT NOT NULL,
        report TEXT,
        failure TEXT,
        usage TEXT NOT NULL,
        seconds DOUBLE PRECISION,
        UNIQUE (session, number)
    )""",
    """CREATE TABLE revisions (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        number INTEGER NOT NULL,
        parent TEXT REFERENCES revisions (id),
        origin TEXT NOT NULL,
        note TEXT NOT NULL,
        plan TEXT REFERENCES plans (id),
        created_at DOUBLE PRECISION NOT NULL,
        workflow TEXT NOT NULL,
        topology TEXT NOT NULL,
        steps INTEGER NOT NULL,
        UNIQUE (session, number)
    )""",
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES sessions (id),
        number INTEGER NOT NULL,
        revision TEXT NOT NULL REFERENCES revisions (id),
        parent TEXT REFERENCES runs (id),
        status TEXT NOT NULL,
        started_at DOUBLE PRECISION NOT NULL,
        finished_at DOUBLE PRECISION,
        answer TEXT,
        owner TEXT NOT NULL,
        pool_label TEXT,
        UNIQUE (session, number)
    )""",
    """CREATE TABLE events (
        run TEXT NOT NULL REFERENCES runs (id),
        seq INTEGER NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    )""",
    """CREATE TABLE outputs (
        session TEXT NOT NULL REFERENCES sessions (id),
        fingerprint TEXT NOT NULL,
        output TEXT NOT NULL,
        PRIMARY KEY (session, fingerprint)
    )""",
    "CREATE INDEX sessions_listed ON sessions (updated_at, id) WHERE deleted_at IS NULL",
    "CREATE INDEX revisions_by_parent ON revisions (parent)",
    "CREATE INDEX runs_running ON runs (id) WHERE status = 'running'",
)
