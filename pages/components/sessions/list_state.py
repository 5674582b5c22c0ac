"""What a tab remembers of the sessions page: which sessions are listed, which are selected, what is open.

The filter is in the URL, too, so that it can be linked and the browser's Back leads to the one before.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import streamlit as st

from pages.components.tab.download import Download
from pages.components.view_models.session_filter_url import NAMES, address_of, filter_of
from storage import EVERYTHING, SessionFilter

SEARCH_KEY = "find-search"
PAGE_KEY = "sessions-page"

_ECHO_SECONDS = 1.0
"""For so long after the page wrote the URL, another one is what the browser had before, not a way back."""

Asked = Literal["rename", "tag", "tags"]
"""A dialog: a session's name, a session's tags, a tag for all that are selected."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted last, to be brought back; `name` is the title of a single one."""

    ids: tuple[str, ...]
    name: str | None


class SessionList:
    """One tab's state of the page; created by every run of it."""

    @property
    def filter(self) -> SessionFilter:
        """Which sessions are listed."""
        return cast("SessionFilter", st.session_state.get("sessions-filter", EVERYTHING))

    def follow_address(self) -> None:
        """Take over what the URL asks for; a visit without a wish sees what the last one saw."""
        visited = SEARCH_KEY in st.session_state
        named = filter_of({name: st.query_params.get_all(name) for name in NAMES})
        fresh_link = not visited and named != EVERYTHING
        way_back = visited and time.monotonic() - self._written_at > _ECHO_SECONDS
        if named != self.filter and (fresh_link or way_back):
            self._set(named)
        self._write()

    def ask_for(self, **changes: Any) -> None:
        """Change the filter; the list begins with its first page, and nothing is selected."""
        self._set(self.filter.model_copy(update=changes))
        self._write()

    def ask_for_everything(self) -> None:
        """Take the search and all filters away."""
        self._set(EVERYTHING)
        self._write()

    def _set(self, filter: SessionFilter) -> None:
        if filter == self.filter:
            return
        st.session_state["sessions-filter"] = filter
        st.session_state["sessions-at"] = 1
        if PAGE_KEY in st.session_state:
            # Set, not deleted: the browser would send the old page with its next message.
            st.session_state[PAGE_KEY] = 1
        self.select(())

    def _write(self) -> None:
        """Write the filter to the URL in one change: each change is an entry in the browser's history."""
        said = {name: st.query_params.get_all(name) for name in st.query_params}
        others = {name: values for name, values in said.items() if name not in NAMES}
        wanted = {**others, **address_of(self.filter)}
        if said != wanted:
            st.session_state["sessions-written"] = time.monotonic()
            st.query_params.from_dict(wanted)

    @property
    def _written_at(self) -> float:
        return cast("float", st.session_state.get("sessions-written", float("-inf")))

    # -- what is selected --------------------------------------------------------------------------------

    @property
    def selected(self) -> tuple[str, ...]:
        """The ids of the sessions that are selected, in the order of selection; also on other pages."""
        return cast("tuple[str, ...]", st.session_state.get("sessions-selected", ()))

    def select(self, ids: Collection[str]) -> None:
        """Select these and no others."""
        st.session_state["sessions-selected"] = tuple(dict.fromkeys(ids))

    def select_also(self, ids: Sequence[str], *, selected: bool) -> None:
        """Add these to the selection, or remove them."""
        others = [id for id in self.selected if id not in set(ids)]
        self.select([*others, *ids] if selected else others)

    # -- what is open, and what was done ---------------------------------------------------------------

    @property
    def asked(self) -> tuple[Asked, str] | None:
        """The dialog that is open, and the session it is about ("" for those selected); None without one."""
        return cast("tuple[Asked, str] | None", st.session_state.get("sessions-asked"))

    def ask(self, what: Asked, session: str = "") -> None:
        """Open a dialog; its fields are new ones."""
        st.session_state["sessions-asked"] = (what, session)
        st.session_state["sessions-asked-times"] = self.times_asked + 1

    def close(self) -> None:
        """Close the dialog."""
        st.session_state.pop("sessions-asked", None)

    @property
    def times_asked(self) -> int:
        """How many dialogs were opened; part of their fields' keys."""
        return cast("int", st.session_state.get("sessions-asked-times", 0))

    @property
    def deleted(self) -> Deleted | None:
        """What was deleted last; None when nothing was, or it was brought back."""
        return cast("Deleted | None", st.session_state.get("deleted"))

    @deleted.setter
    def deleted(self, deleted: Deleted | None) -> None:
        st.session_state["deleted"] = deleted

    def leave_for(self, page: str, query: Mapping[str, str]) -> None:
        """Go to another page when this one is drawn next: a run that breaks off would forget it."""
        st.session_state["sessions-leave"] = (page, dict(query))

    def leave(self) -> None:
        """Go where the tab is to go, if anywhere."""
        target = st.session_state.pop("sessions-leave", None)
        if target is not None:
            st.switch_page(target[0], query_params=target[1])

    @property
    def wanted_file(self) -> tuple[str, ...]:
        """The sessions to export to a file; returned once."""
        return cast("tuple[str, ...]", st.session_state.pop("sessions-wanted", ()))

    def want_file(self, ids: Sequence[str]) -> None:
        """Have these sessions given out as a file when the page is drawn."""
        st.session_state["sessions-wanted"] = tuple(ids)

    @property
    def file(self) -> Download | None:
        """The file last given out."""
        return cast("Download | None", st.session_state.get("sessions-file"))

    @file.setter
    def file(self, file: Download) -> None:
        st.session_state["sessions-file"] = file
