"""Rounds, repeated attempts at a plan, and what a session asks of its Conductor."""

from __future__ import annotations

from storage.migrations.migration import Migration

ROUNDS: Migration = (
    "ALTER TABLE plans ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE plans ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE plans ADD COLUMN looks_back TEXT REFERENCES runs (id)",
    "ALTER TABLE revisions ADD COLUMN looks_back TEXT REFERENCES runs (id)",
    "ALTER TABLE runs ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE sessions ADD COLUMN settings TEXT",
)
