"""What the application asks about people's judgement."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.corrections import Correction, Thumbs
from storage import corrections
from storage.store.transactions import Transactions


class Corrections(Transactions):
    """What people made of Conductors' plans, and what they think of answers."""

    def corrections(self, *, every: bool = False) -> Iterator[Correction]:
        """What people made of Conductors' plans, oldest first, in all sessions that are not deleted.

        Of each plan the final change: the one that was made, or finished a run, last; with `every`, all of
        them. Read as they are asked for, all from one state of the store.
        """
        self._check_open()
        with self._database.transaction(to="read") as connection:
            yield from corrections.read(connection, every=every)

    def rate(self, run: str, thumbs: Thumbs | None) -> None:
        """Keep what a person thinks of a run's answer; None takes it back."""
        self._write(corrections.rate, run, thumbs, now=self._clock())

    def rating(self, run: str) -> Thumbs | None:
        """What a person thinks of a run's answer, None where nobody said."""
        return self._remember(corrections.rating, run)
