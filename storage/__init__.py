"""What is kept: sessions, plans, revisions, runs with their events, and outputs by fingerprint."""

from storage.records import ExperimentRecord, Plan, Revision, RunRecord, Session, SessionState, SessionSummary
from storage.sessions import MAX_TITLE
from storage.store import SessionStore, default_url

__all__ = [
    "MAX_TITLE",
    "ExperimentRecord",
    "Plan",
    "Revision",
    "RunRecord",
    "Session",
    "SessionState",
    "SessionStore",
    "SessionSummary",
    "default_url",
]
