"""Processes that share a store: which of them are there, and what one asks of another."""

from __future__ import annotations

from storage.migrations.migration import Migration

PROCESSES: Migration = (
    """CREATE TABLE processes (
        id TEXT PRIMARY KEY,
        started_at DOUBLE PRECISION NOT NULL,
        beat_at DOUBLE PRECISION NOT NULL
    )""",
    "ALTER TABLE runs ADD COLUMN stop_asked_at DOUBLE PRECISION",
)
