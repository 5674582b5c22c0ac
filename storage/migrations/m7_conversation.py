"""What was said before a session's question."""

from __future__ import annotations

from storage.migrations.migration import Migration

CONVERSATION: Migration = ("ALTER TABLE sessions ADD COLUMN conversation TEXT",)
