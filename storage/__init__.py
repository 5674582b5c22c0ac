"""Stores sessions, plans, revisions, runs with their events, and outputs by fingerprint."""

from storage.database.unreadable_rows import leave_out, left_out_rows
from storage.records import (
    EVERYTHING,
    ExperimentRecord,
    Plan,
    Revision,
    RevisionSummary,
    RunRecord,
    Session,
    SessionFilter,
    SessionOrigin,
    SessionSummary,
)
from storage.search.terms import Snippet
from storage.session_entries import SessionState
from storage.store import SessionStore, data_folder, default_url
from storage.tables.ledger import Reality, UsageKey, Use
from storage.tables.sessions import MAX_TAG, MAX_TITLE

__all__ = [
    "EVERYTHING",
    "MAX_TAG",
    "MAX_TITLE",
    "ExperimentRecord",
    "Plan",
    "Reality",
    "Revision",
    "RevisionSummary",
    "RunRecord",
    "Session",
    "SessionFilter",
    "SessionOrigin",
    "SessionState",
    "SessionStore",
    "SessionSummary",
    "Snippet",
    "UsageKey",
    "Use",
    "data_folder",
    "default_url",
    "leave_out",
    "left_out_rows",
]
