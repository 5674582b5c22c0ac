"""What the API keeps beside a session that a request began: whose token asked, and the response it got."""

from __future__ import annotations

from storage.migrations.migration import Migration

REQUESTS: Migration = (
    """CREATE TABLE api_requests (
        session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        token TEXT,
        response TEXT
    )""",
)
