"""Edits that met somebody else's, kept until the person who made them decides what becomes of them.

They outlive a reload of their tab, whose address holds the key, but not the process: nothing was said to be
kept. Knows edits, no page.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from conductor.workflow import Workflow
from storage import Revision

TABS = 1_000
"""Tabs whose edits are kept at most; those of the tab that was longest without one go first."""


@dataclass(frozen=True, slots=True)
class EditAside:
    """An edit of `edited` that was not applied, because another revision was the head by then.

    `restores` is the id of the revision whose workflow it brings back, None for others.
    """

    session: str
    edited: Revision
    workflow: Workflow
    note: str
    restores: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))


class EditsAside:
    """Any thread may use it. A tab is named by a key that nobody can guess."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: OrderedDict[str, tuple[EditAside, ...]] = OrderedDict()

    def of(self, tab: str | None, session: str) -> tuple[EditAside, ...]:
        """A tab's edits of a session, oldest first."""
        with self._lock:
            return tuple(edit for edit in self._of.get(tab or "", ()) if edit.session == session)

    def lay(self, tab: str | None, edit: EditAside) -> str:
        """Keep an edit for a tab; the tab's key, a new one where it has none."""
        key = tab or secrets.token_hex(16)
        with self._lock:
            self._of[key] = (*self._of.pop(key, ()), edit)
            while len(self._of) > TABS:
                self._of.popitem(last=False)
        return key

    def settle(self, tab: str | None, edit: EditAside) -> None:
        """Forget an edit that was decided about."""
        with self._lock:
            left = tuple(other for other in self._of.pop(tab or "", ()) if other.id != edit.id)
            if left and tab:
                self._of[tab] = left


ASIDE = EditsAside()
"""The process's."""
