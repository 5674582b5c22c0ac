-- The tables of version 11, on SQLite and PostgreSQL alike. Statements end with a semicolon and a blank line.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

-- No foreign keys: `head` would make a circle with revisions; a fork outlives the session `forked_from`.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    query TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    pool_label TEXT,
    head TEXT,
    state TEXT NOT NULL,
    deleted_at DOUBLE PRECISION,
    settings TEXT,
    origin TEXT,
    forked_from TEXT,
    conversation TEXT
);

CREATE TABLE plans (
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
    round INTEGER NOT NULL DEFAULT 1,
    attempt INTEGER NOT NULL DEFAULT 1,
    alternative TEXT,
    UNIQUE (session, number)
);

CREATE TABLE revisions (
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
    author TEXT,
    UNIQUE (session, number)
);

CREATE TABLE runs (
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
    round INTEGER NOT NULL DEFAULT 1,
    trial INTEGER,
    tokens INTEGER,
    stop_asked_at DOUBLE PRECISION,
    UNIQUE (session, number)
);

CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE outputs (
    session TEXT NOT NULL REFERENCES sessions (id),
    fingerprint TEXT NOT NULL,
    output TEXT NOT NULL,
    PRIMARY KEY (session, fingerprint)
);

-- What people made of a Conductor's plan: `planned` is the Conductor's revision, `revision` a person's.
CREATE TABLE corrections (
    revision TEXT PRIMARY KEY REFERENCES revisions (id),
    session TEXT NOT NULL REFERENCES sessions (id),
    plan TEXT NOT NULL REFERENCES plans (id),
    planned TEXT NOT NULL REFERENCES revisions (id),
    created_at DOUBLE PRECISION NOT NULL
);

CREATE TABLE ratings (
    run TEXT PRIMARY KEY REFERENCES runs (id),
    thumbs TEXT NOT NULL,
    rated_at DOUBLE PRECISION NOT NULL
);

-- Variants of a workflow, run to be compared: runs that ordinary lists leave out.
CREATE TABLE experiments (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id),
    number INTEGER NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    base TEXT NOT NULL REFERENCES runs (id),
    experiment TEXT NOT NULL,
    UNIQUE (session, number)
);

CREATE TABLE tags (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (session, tag)
);

CREATE TABLE revision_workers (
    revision TEXT NOT NULL REFERENCES revisions (id) ON DELETE CASCADE,
    worker TEXT NOT NULL,
    PRIMARY KEY (revision, worker)
);

-- Bearer tokens of the API; of their secrets only digests are stored.
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    used_at DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION,
    limits TEXT NOT NULL
);

CREATE TABLE api_spending (
    token TEXT NOT NULL REFERENCES api_tokens (id),
    day TEXT NOT NULL,
    requests BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    unknown_tokens BIGINT NOT NULL,
    unknown_costs BIGINT NOT NULL,
    PRIMARY KEY (token, day)
);

-- Sessions that requests to the API began: whose token it was, and the response that was sent.
CREATE TABLE api_requests (
    session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    token TEXT,
    response TEXT
);

-- What events, outputs and revisions refer to, by digest.
CREATE TABLE long_texts (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session, digest)
);

CREATE TABLE fragments (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session, digest)
);

ALTER TABLE plans ADD COLUMN looks_back TEXT REFERENCES runs (id);

ALTER TABLE revisions ADD COLUMN looks_back TEXT REFERENCES runs (id);

ALTER TABLE runs ADD COLUMN experiment TEXT REFERENCES experiments (id);

CREATE INDEX sessions_listed ON sessions (updated_at, id) WHERE deleted_at IS NULL;

CREATE INDEX revisions_by_parent ON revisions (parent);

CREATE INDEX runs_running ON runs (id) WHERE status = 'running';

CREATE INDEX corrections_by_planned ON corrections (planned);

CREATE INDEX runs_by_experiment ON runs (experiment) WHERE experiment IS NOT NULL;

CREATE INDEX sessions_by_tag ON tags (tag, session);

CREATE INDEX revisions_by_worker ON revision_workers (worker, revision);

CREATE INDEX revisions_by_topology ON revisions (topology, id);

CREATE INDEX runs_by_session ON runs (session, experiment, tokens);

CREATE INDEX sessions_deleted ON sessions (updated_at, id) WHERE deleted_at IS NOT NULL;

-- A name belongs to one token that may be used; revoking a token frees its name.
CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at IS NULL;

-- Removing a row checks what refers to it: every foreign key has an index that begins with its column.
CREATE INDEX plans_by_run_before ON plans (looks_back) WHERE looks_back IS NOT NULL;

CREATE INDEX revisions_by_run_before ON revisions (looks_back) WHERE looks_back IS NOT NULL;

CREATE INDEX revisions_by_plan ON revisions (plan) WHERE plan IS NOT NULL;

CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;

CREATE INDEX runs_by_revision ON runs (revision);

CREATE INDEX experiments_by_base ON experiments (base);

CREATE INDEX corrections_by_plan ON corrections (plan);

CREATE INDEX corrections_by_session ON corrections (session);
