"""The question of an evaluation that a session answered. Knows the store's cells; scores nothing."""

from __future__ import annotations

from conductor.evaluation.items import Item
from storage import SessionStore


def asked_item(store: SessionStore, session: str) -> Item | None:
    """The item as it was asked, its choices in that order; None if the session is of no evaluation."""
    cell = store.evaluations.cell_of_session(session)
    if cell is None:
        return None
    return store.evaluations.item_at(cell.evaluation, cell.item)
