"""Finds the plan behind a revision, after any number of edits. Knows the store's revisions and plans."""

from __future__ import annotations

from storage.records import Plan, Revision
from storage.store import SessionStore


def planned_by(store: SessionStore, revision: Revision) -> tuple[Revision, Plan] | None:
    """The planned revision that a revision goes back to, with its plan; None if it was imported."""
    while revision.plan is None:
        if revision.parent is None:
            return None
        revision = store.revisions.find(revision.parent)
    return revision, store.plans.find(revision.plan)
