"""A workbench for watchers: the same store and the same activities, and nothing to change.

Whatever would write, begin, stop or wait raises `ViewOnly`, because the parts that do so are not handed down.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from conductor.errors import ViewOnly
from studio.workbench.workbench import Workbench


class ViewOnlyWorkbench(Workbench):
    """What `of` knows, as it knows it at each moment."""

    def __init__(self, of: Workbench) -> None:
        # Nothing of its own that stores or runs: no call of the constructor above.
        self.store = of.store.view_only()
        self.background = _only(of.background, "live")
        self.activities = _only(of.activities, "live_plan", "live_alternatives", "busy", "failure")
        self.runner = _only(of.runner, "runtime", "previous")
        self._observers = ()
        self._folded, self._folding = of._folded, of._folding
        self._asker, self._person = of._asker, of._person
        self._add_parts()
        self.used_today = of.used_today

    def close(self) -> NoReturn:
        """Refused: watchers close nothing."""
        raise ViewOnly("A watcher cannot close the workbench.")


class _Only:
    """The named attributes of an object; any other raises `ViewOnly`."""

    def __init__(self, of: object, names: tuple[str, ...]) -> None:
        self._of, self._names = of, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return getattr(self._of, name)
        raise ViewOnly("This is view-only: nothing can be planned, run, stopped or changed here.")


def _only(of: Any, *names: str) -> Any:
    return cast("Any", _Only(of, names))
