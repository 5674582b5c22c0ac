"""Bearer tokens of the API, of whose secrets only digests are kept, and what each has used by the day."""

from __future__ import annotations

from storage.migrations.migration import Migration

TOKENS: Migration = (
    """CREATE TABLE api_tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        used_at DOUBLE PRECISION,
        revoked_at DOUBLE PRECISION,
        limits TEXT NOT NULL
    )""",
    # One name stands for one token that may be used; a revoked one gives its name back.
    "CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at IS NULL",
    """CREATE TABLE api_spending (
        token TEXT NOT NULL REFERENCES api_tokens (id),
        day TEXT NOT NULL,
        requests BIGINT NOT NULL,
        tokens BIGINT NOT NULL,
        cost DOUBLE PRECISION NOT NULL,
        unknown_tokens BIGINT NOT NULL,
        unknown_costs BIGINT NOT NULL,
        PRIMARY KEY (token, day)
    )""",
)
