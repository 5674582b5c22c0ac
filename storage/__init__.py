"""What is kept: sessions, plans, revisions, runs with their events, and outputs by fingerprint."""

from storage.records import (
    ExperimentRecord,
    Plan,
    Revision,
    RevisionEntry,
    RunRecord,
    Session,
    SessionOrigin,
    SessionState,
    SessionSummary,
)
from storage.session_filter import EVERYTHING, SessionFilter
from storage.sessions import MAX_TITLE
from storage.snippet import Snippet
from storage.store import SessionStore, default_url
from storage.tags import MAX_TAG

__all__ = [
    "EVERYTHING",
    "MAX_TAG",
    "MAX_TITLE",
    "ExperimentRecord",
    "Plan",
    "Revision",
    "RevisionEntry",
    "RunRecord",
    "Session",
    "SessionFilter",
    "SessionOrigin",
    "SessionState",
    "SessionStore",
    "SessionSummary",
    "Snippet",
    "default_url",
]
