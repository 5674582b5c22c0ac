-- The indexes of the tables, on SQLite and PostgreSQL alike. Statements end with a semicolon and a blank line.
-- Not in the model: SQLAlchemy loads a database's dialect for a condition, which every start would pay.
CREATE INDEX sessions_listed ON sessions (updated_at, id) WHERE deleted_at IS NULL AND COALESCE(origin, '') <> 'evaluation';

CREATE INDEX sessions_evaluated ON sessions (updated_at, id) WHERE deleted_at IS NULL AND origin = 'evaluation';

CREATE INDEX sessions_by_age ON sessions (created_at, id);

CREATE INDEX sessions_by_title ON sessions (title) WHERE deleted_at IS NULL;

CREATE INDEX facets_by_session ON session_facets (session, kind, name);

CREATE INDEX sums_by_tokens ON session_sums ((prompt + completion));

CREATE INDEX revisions_by_parent ON revisions (parent);

CREATE INDEX runs_running ON runs (id) WHERE status = 'running';

CREATE INDEX corrections_by_planned ON corrections (planned);

CREATE INDEX runs_by_experiment ON runs (experiment) WHERE experiment IS NOT NULL;

CREATE INDEX sessions_by_tag ON tags (tag, session);

CREATE INDEX revisions_by_worker ON revision_workers (worker, revision);

CREATE INDEX revisions_by_topology ON revisions (topology, id);

CREATE INDEX runs_by_session ON runs (session, experiment);

CREATE INDEX charges_by_session ON charges (session, run);

CREATE INDEX charges_by_time ON charges (at);

CREATE INDEX usage_sums_by_token ON usage_sums (token, quarter);

CREATE INDEX usage_sums_by_person ON usage_sums (person, quarter);

CREATE INDEX sessions_deleted ON sessions (updated_at, id) WHERE deleted_at IS NOT NULL;

CREATE INDEX sessions_expiring ON sessions (expires_at) WHERE expires_at IS NOT NULL;

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

CREATE INDEX evaluation_cells_by_session ON evaluation_cells (answered_in);

CREATE INDEX notes_by_session ON notes (session);

CREATE INDEX notes_by_revision ON notes (revision);

CREATE INDEX notes_by_run ON notes (run);

CREATE INDEX change_requests_by_session ON change_requests (session);

CREATE INDEX change_requests_by_revision ON change_requests (revision);

CREATE INDEX change_requests_by_plan ON change_requests (plan);

CREATE INDEX change_requests_by_chosen ON change_requests (chosen);

CREATE INDEX api_conversations_by_session ON api_conversations (session);

CREATE UNIQUE INDEX team_tests_by_question ON team_tests (data_set, digest);

CREATE INDEX team_tests_by_digest ON team_tests (digest);

CREATE INDEX texts_by_session ON texts (session, kind);
