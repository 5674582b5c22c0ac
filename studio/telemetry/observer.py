"""An observer receives the events while sessions plan and run. Knows events; knows no store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from conductor.runs.events import Event, TextPiece

_log = logging.getLogger(__name__)


class Watch(Protocol):
    """Looks on while one session works, from the start of planning or a run until all of it has ended.

    Called in the loop in which runs live, so it must be quick.
    """

    def see(self, event: Event) -> None:
        """The next event, in the order of the streams; pieces of texts are left out."""
        ...

    def end(self) -> None:
        """No more events come, however it ended."""
        ...


Observer = Callable[[str], Watch]
"""Returns the watch of a session, by its id, whenever something begins there."""


class Watches:
    """The watches of all observers as one. A fault in one of them goes to the log, and that one sees no more:
    it may not break a run.
    """

    def __init__(self, observers: Sequence[Observer], session: str) -> None:
        self._watches: list[Watch] = []
        for observer in observers:
            try:
                self._watches.append(observer(session))
            except Exception:  # noqa: BLE001 - the run does not depend on who looks on
                _log.exception("an observer of runs could not begin")

    def see(self, event: Event) -> None:
        """See `Watch.see`; may be given pieces of texts."""
        if self._watches and not isinstance(event, TextPiece):
            self._each(lambda watch: watch.see(event))

    def end(self) -> None:
        """See `Watch.end`."""
        self._each(lambda watch: watch.end())

    def _each(self, call: Callable[[Watch], None]) -> None:
        for watch in tuple(self._watches):
            try:
                call(watch)
            except Exception:  # noqa: BLE001 - see above
                _log.exception("an observer of runs failed; it sees no more of this session")
                self._watches.remove(watch)
