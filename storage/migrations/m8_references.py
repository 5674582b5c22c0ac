"""What refers to a row is found at once: whoever removes the row is asked for that."""

from __future__ import annotations

from storage.migrations.migration import Migration

REFERENCES: Migration = (
    "CREATE INDEX plans_by_run_before ON plans (looks_back) WHERE looks_back IS NOT NULL",
    "CREATE INDEX revisions_by_run_before ON revisions (looks_back) WHERE looks_back IS NOT NULL",
    "CREATE INDEX revisions_by_plan ON revisions (plan) WHERE plan IS NOT NULL",
    "CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX runs_by_revision ON runs (revision)",
    "CREATE INDEX experiments_by_base ON experiments (base)",
    "CREATE INDEX corrections_by_plan ON corrections (plan)",
    "CREATE INDEX corrections_by_session ON corrections (session)",
)
