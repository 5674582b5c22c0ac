"""Draws the page again while a run moves, and when another person or tab has changed it.

The page reads the session and draws all its fragments from that. While a run moves, the browser asks for the
fragments that follow it and are looked at, all of them in one message; they share one reading. For other
changes it asks the server about every second. A page that is not looked at asks for nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from conductor.errors import StorageError
from conductor.runs.replay import Replay
from pages.components.routes.changes import ENDING, PATH
from pages.components.streamlit_patches.component import component, trigger_value
from pages.components.streamlit_patches.script_message import others_changed, whole_page_follows
from pages.components.tab.notices import showing_errors
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from storage import Session
from studio.workbench import Marks, Workbench, marks

ASK_MILLISECONDS = 1_000

_component = component(
    "conductor_changes",
    __file__,
    html='<div class="changed-elsewhere" role="status" hidden></div>',
    js="live_refresh.js",
    isolated=False,
)

_notification = component(
    "conductor_notification",
    __file__,
    html='<button class="notify" type="button" aria-pressed="false" hidden></button>',
    css="notification.css",
    js="notification.js",
)

RUN_MILLISECONDS = 500
REPLAY_MILLISECONDS = 250
"""Between two drawings of what moves. A replay is to look as smooth as its player's bars."""

_CHANGES = "changes-part"
RECENT_PART = "recent-part"
"""The key of the fragment with the list of recent sessions."""

SHARED_SECONDS = 0.2
"""How long fragments share one reading: less than a tick, so that each tick has a new one."""

Follows = Literal["answer", "step", "live", "drawer", "always"]
"""Where a part that follows a run is seen: a content of the reading pane, an open drawer, or anywhere."""


def watch(
    tab: TabState,
    marks: Marks,
    *,
    every: int | None = None,
    on_tick: Callable[[], None] = lambda: None,
    on_changed: Callable[[], None] | None = None,
) -> None:
    """Watch whether `marks` still hold; call `on_tick` `every` so many milliseconds, None for never.

    Where they hold no more, call `on_changed`, by default have the whole page drawn.
    """
    _component(
        key="changes",
        data={
            "url": _url(PATH),
            "of": tab.session,
            "session": marks.session,
            "recent": marks.recent,
            "every": ASK_MILLISECONDS if every is None else 3 * ASK_MILLISECONDS,
            "tick": every,
        },
        height=1,
        on_changed_change=on_changed or tab.ask_redraw,
        on_tick_change=on_tick,
    )


def notification(session: Session) -> Any:
    """Draw the switch of the browser's notifications; while it is on, watch the session once the page is
    hidden. What is shown when a run ends, waits or meets its budget has the session's title and the run's
    state, no text of a model. Off until a person turns it on, for all sessions in that browser.
    """
    return _notification(
        key="notification",
        data={
            "url": _url(ENDING),
            "session": session.id,
            "title": plain(session.title, limit=90),
        },
    )


def _url(path: str) -> str:
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{f'/{base}' if base else ''}{path}"


class CurrentView:
    """The view of one session for one run of the page, and for the fragments that are drawn again after it.

    `of_page` is the view with which the page was drawn. `now` is a clock in seconds.
    """

    def __init__(
        self, bench: Workbench, tab: TabState, session: str, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._bench, self._tab, self._session, self._now = bench, tab, session, now
        self._fragments = {"tick"}
        self._following: dict[str, Follows] = {}
        self._before: SessionView | None = None
        self._last = self.of_page = self._read()

    def fragment(
        self, key: str, draw: Callable[[SessionView], None], *, follows: Follows | None = None
    ) -> None:
        """Draw a part of the page, which is drawn again without the rest of it when a person acts in it, and
        while the session moves where the part `follows` that.
        """
        if follows is not None:
            self._following[key] = follows

        def part() -> None:
            self._tab.redraw_on_request()
            with showing_errors(key):
                draw(self.of(key))

        _fragment(key, part)

    def watch(self, seen: Marks) -> None:
        """Have the browser ask for what moves, and whether the marks `seen`, taken before the page was drawn,
        still hold. A person who is typing is not interrupted: the page shows that there is news, and waits.
        """
        view, every, self._marks = self.of_page, None, seen
        if view.moves or view.busy:
            every = RUN_MILLISECONDS if view.replay is None else REPLAY_MILLISECONDS

        def part() -> None:
            self._tab.redraw_on_request()
            watch(self._tab, self._marks, every=every, on_tick=self.tick, on_changed=self.changed)

        # In a fragment of its own, as a message of the page itself would break off what is being drawn.
        _fragment(_CHANGES, part)

    def changed(self) -> None:
        """Have what changed drawn: the list of recent sessions alone, or the whole page."""
        if whole_page_follows():
            return
        # Before the list is read: what changes from now on is news.
        now = marks(self._bench, self._tab.session)
        if now.session != self._marks.session or others_changed("changes"):
            self._tab.ask_redraw()
            return
        self._marks = now
        self._tab.redraw([_CHANGES, RECENT_PART])

    def tick(self) -> None:
        """Have what moves drawn: the whole page where it is another one by now."""
        try:
            moved_on = self.of_page.phase != self.of("tick").phase
        except StorageError:
            moved_on = True  # the page shows what is wrong
        if whole_page_follows():
            return
        if moved_on or others_changed("changes"):
            self._tab.ask_redraw()
            return
        reads = trigger_value("changes", "tick")
        moving = {"always", str(reads), *(["drawer"] if self._tab.panel_moves else [])}
        self._tab.redraw([key for key, follows in self._following.items() if follows in moving])

    def of(self, fragment: str) -> SessionView:
        """The view from which to draw `fragment` (its key). Raises `StorageError` for a session that is gone.

        The first time it is the page's own. After that it is at most `SHARED_SECONDS` old where the page
        changes without an edit; else a person has done something in the fragment, and the view is read
        again.
        """
        if fragment not in self._fragments:
            self._fragments.add(fragment)
            return self.of_page
        shared = self.of_page.moves or self.of_page.busy
        if not shared or self._now() - self._read_at > SHARED_SECONDS or self._tab.replay != self._replay:
            self._last = self._read()
        return self._last

    def _read(self) -> SessionView:
        """The session now; a replay that is over is left."""
        self._read_at, self._replay = self._now(), self._tab.replay
        view = self._before = self._load(self._replay)
        if view.replay is None:
            self._tab.leave_replay()
            self._replay = None
        return view

    def _load(self, replay: Replay | None) -> SessionView:
        return SessionView.load(self._bench, self._session, replay=replay, before=self._before)


def _fragment(key: str, part: Callable[[], None]) -> None:
    # Streamlit distinguishes the fragments at one place of the page by the names of their functions.
    part.__qualname__ = key
    st.fragment(part, key=key)()
