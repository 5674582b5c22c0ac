"""The state of the sessions page in a tab: which sessions are listed, which are selected, what is open.

The filter is in the URL, too, so that it can be linked and the browser's Back leads to the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from pages.components.sessions.filter_url import NAMES, address_of, filter_of
from pages.components.streamlit_patches.script_message import history_moved
from pages.components.tab.download import Download
from storage import EVERYTHING, SessionFilter

SEARCH_KEY = "find-search"
PAGE_KEY = "sessions-page"


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted last, to be brought back; `name` is the title of a single one."""

    ids: tuple[str, ...]
    name: str | None


@dataclass
class SessionList:
    """One tab's state of the page.

    `selected` are ids in the order of selection, also on other pages of the list; `page` was shown last, of
    the window behind `after`. `exports` are the sessions to export to a file when the page is drawn, `file`
    is what was exported last.
    """

    filter: SessionFilter = EVERYTHING
    page: int = 1
    after: str | None = None
    selected: tuple[str, ...] = ()
    deleted: Deleted | None = None
    exports: tuple[str, ...] = ()
    file: Download | None = None
    _next_page: tuple[str, Mapping[str, str]] | None = None

    @classmethod
    def of_tab(cls) -> SessionList:
        return cast("SessionList", st.session_state.setdefault("session-list", cls()))

    def follow_address(self) -> None:
        """Take over what the URL asks for; a visit without a wish sees what the last one saw."""
        visited = SEARCH_KEY in st.session_state
        named = filter_of({name: st.query_params.get_all(name) for name in NAMES})
        fresh_link = not visited and named != EVERYTHING
        self._set(named if fresh_link or history_moved() else self.filter)

    def ask_for(self, **changes: Any) -> None:
        """Change the filter; the list begins with its first page, and nothing is selected."""
        self._set(self.filter.model_copy(update=changes))

    def ask_for_everything(self) -> None:
        """Take the search and all filters away."""
        self._set(EVERYTHING)

    def _set(self, filter: SessionFilter) -> None:
        if filter != self.filter:
            self.filter, self.selected = filter, ()
            self.go_on(None)
        # One change of the URL: each is an entry in the browser's history.
        written = {name: st.query_params.get_all(name) for name in st.query_params}
        others = {name: values for name, values in written.items() if name not in NAMES}
        params = {**others, **address_of(self.filter)}
        if written != params:
            st.query_params.from_dict(params)

    def go_on(self, after: str | None) -> None:
        """List the sessions behind a place, or from the newest on."""
        self.after, self.page = after, 1
        if PAGE_KEY in st.session_state:
            # Set, not deleted: the browser would send the old page with its next message.
            st.session_state[PAGE_KEY] = 1

    def select(self, ids: Collection[str]) -> None:
        """Select these and no others."""
        self.selected = tuple(dict.fromkeys(ids))

    def select_also(self, ids: Sequence[str], *, selected: bool) -> None:
        """Add these to the selection, or remove them."""
        others = [id for id in self.selected if id not in set(ids)]
        self.select([*others, *ids] if selected else others)

    def leave_for(self, page: str, query: Mapping[str, str]) -> None:
        """Go to another page when this one is drawn next: a run that breaks off would forget it."""
        self._next_page = (page, query)

    def leave(self) -> None:
        """Go where the tab is to go, if anywhere."""
        target, self._next_page = self._next_page, None
        if target is not None:
            st.switch_page(target[0], query_params=dict(target[1]))
