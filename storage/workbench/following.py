"""Whether anything has changed since a page was drawn, by whomever: this process or another one.

Cheap enough to be asked every second by a page that nobody touches. Knows what a page shows of the store,
no page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from conductor.errors import StorageError
from storage.workbench.bench import Bench

RECENT = 8
"""Sessions that the list of recent ones shows."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Short texts, each another than before wherever what it stands for has changed.

    `session` stands for one session, "" for none; `recent` for the list of recent ones. What happens inside
    a run changes neither: whoever shows a run follows its events.
    """

    session: str
    recent: str


class Following(Bench):
    """Whether anything has changed since a page was drawn."""

    def marks(self, session: str | None) -> Marks:
        """The marks as of now; an unknown session's is "gone"."""
        return Marks(self._mark(session), self._recent_mark())

    def _mark(self, session: str | None) -> str:
        if session is None:
            return ""
        try:
            found = self.store.session(session)
            run = self.store.latest_run(session)
        except StorageError:
            return "gone"
        ran = None if run is None else (run.id, run.status)
        # Planning leaves no trace in the store before it ends; elsewhere it is told then.
        return _digest(found.model_dump_json(), ran, self.conducting.busy(session))

    def _recent_mark(self) -> str:
        listed = self.store.sessions(limit=RECENT)
        return _digest(*((one.id, one.title, one.state) for one in listed))


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(errors="replace"), digest_size=8).hexdigest()
