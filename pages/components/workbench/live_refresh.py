"""When the page is read and drawn again: while a run moves, and when another person or tab has changed it.

The page reads the session and draws all its fragments from that. While a run moves, each fragment is drawn
again every `POLL_SECONDS` by a separate timer: the first of them reads the session, the others share it.
For other changes the browser asks the server, about every second and only while the page is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from pages.components.routes.changes import PATH
from pages.components.streamlit_patches.component import component
from pages.components.tab.notices import errors_shown
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from studio.workbench import Marks, Workbench

ASK_MILLISECONDS = 1_000

_component = component(
    "conductor_changes",
    __file__,
    html='<div class="changed-elsewhere" role="status" hidden></div>',
    js="live_refresh.js",
    isolated=False,
)

POLL_SECONDS = 0.25

SHARED_SECONDS = 0.8 * POLL_SECONDS
"""How long fragments share one reading: less than a tick, so that each tick has a new one."""


def changes(tab: TabState, marks: Marks) -> None:
    """Watch whether `marks`, which were taken before the page was drawn, still hold.

    A person who is typing is not interrupted: the page shows that there is news, and waits.
    """
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    _component(
        key="changes",
        data={
            "url": f"{f'/{base}' if base else ''}{PATH}",
            "of": tab.session,
            "session": marks.session,
            "recent": marks.recent,
            "every": ASK_MILLISECONDS,
        },
        height=1,
        on_changed_change=tab.ask_redraw,
    )


class CurrentView:
    """The view of one session for one run of the page, and for the fragments that are drawn again after it.

    `of_page` is the view with which the page was drawn. `now` is a clock in seconds.
    """

    def __init__(
        self, bench: Workbench, tab: TabState, session: str, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._bench, self._tab, self._session, self._now = bench, tab, session, now
        self._drawn: set[str] = set()
        self._last = self.of_page = self._read()

    def fragment(self, key: str, draw: Callable[[SessionView], None], *, every: float | None = None) -> None:
        """Draw a part of the page, which is drawn again without the rest of it: `every` so many seconds, and
        when a person acts in it.
        """

        def part() -> None:
            self._tab.redraw_if_asked()
            with errors_shown(key):
                draw(self.of(key))

        # Streamlit distinguishes the fragments at one place of the page by the names of their functions.
        part.__qualname__ = key
        st.fragment(part, key=key, run_every=every)()

    def of(self, fragment: str) -> SessionView:
        """The view from which to draw `fragment` (its key). Raises `StorageError` for a session that is gone.

        The first time it is the page's own. After that it is at most `SHARED_SECONDS` old where the page
        changes without an edit; else a person has done something in the fragment, and the view is read
        again.
        """
        if fragment not in self._drawn:
            self._drawn.add(fragment)
            return self.of_page
        shared = self.of_page.moves or self.of_page.busy
        if not shared or self._now() - self._read_at > SHARED_SECONDS or self._tab.replay != self._asked:
            self._last = self._read()
        return self._last

    def _read(self) -> SessionView:
        """The session now; a replay that is over is left."""
        self._read_at, self._asked = self._now(), self._tab.replay
        view = SessionView.load(self._bench, self._session, replay=self._asked)
        if view.replay is None:
            self._tab.leave_replay()
            self._asked = None
        return view
