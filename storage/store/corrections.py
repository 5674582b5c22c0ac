"""The store's methods for people's corrections of plans and ratings of answers."""

from __future__ import annotations

from collections.abc import Generator

from conductor.planner.corrections import Correction, Thumbs
from storage.store.transactions import Part
from storage.tables import corrections, plan_changes


class Corrections(Part):
    """People's changes of Conductors' plans, and their ratings of answers."""

    def read(self, *, every: bool = False) -> Generator[Correction]:
        """People's changes of Conductors' plans, oldest first, in all sessions that are not deleted.

        Of each plan the final change: the one that was made, or finished a run, last; with `every`, all of
        them. Revisions that are equal as plans are one change. Read lazily, all from one state of the store.
        """
        with self._transactions.reading() as connection:
            yield from plan_changes.read(connection, every=every)

    def rate(self, run: str, thumbs: Thumbs | None) -> None:
        """Store a person's rating of a run's answer; None removes it."""
        self._write(corrections.rate, run, thumbs, now=self._clock())

    def rating(self, run: str) -> Thumbs | None:
        """A person's rating of a run's answer, None without one."""
        return self._remember(corrections.rating, run)
