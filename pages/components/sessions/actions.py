"""What can be done with listed sessions, one or many at once. Errors stand above the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conductor.errors import ConductorError
from conductor.text.formatting import counted
from pages.components.sessions.forked_from import source_of
from pages.components.sessions.import_export import report_download
from pages.components.sessions.list_state import Asked, Deleted, SessionList
from pages.components.tab.state import TabState
from pages.components.view_models.comparable import last_two
from pages.components.widgets.compare_link import PAGE as COMPARE_PAGE
from pages.components.widgets.compare_link import compare_query
from studio.workbench import Workbench

PLACE = "sessions"
"""Where notices of this page stand."""


@dataclass(frozen=True, slots=True)
class SessionActions:
    """Callbacks of one tab; each has the same effect when it comes twice."""

    bench: Workbench
    tab: TabState
    listed: SessionList

    def ask(self, what: Asked, session: str = "") -> None:
        """Open a dialog."""
        self.listed.ask(what, session)

    def rename(self, session: str, title: str, *, drawn: str) -> None:
        """Give a session another title than the one `drawn`; an empty one is refused, and so is any where
        another person gave it a title meanwhile.
        """
        if not title.strip():
            self.tab.notify(
                "error", "A title needs at least one character; the old one is kept.", place=PLACE
            )
            return

        def rename_it() -> None:
            there, wanted = self.bench.store.sessions.find(session).title, " ".join(title.split())
            if there in (drawn, wanted):
                self.bench.store.sessions.rename(session, wanted)
            else:
                said = f"Not renamed to “{wanted}”: its title was changed to “{there}” meanwhile."
                self.tab.notify("info", f"{said} Rename it again to use yours.", place=PLACE)

        self._try(rename_it)

    def set_tags(self, session: str, tags: Sequence[str]) -> None:
        """Have a session tagged with these and no others."""

        def set_them() -> None:
            for tag in self.bench.store.sessions.tags(session):
                if tag not in tags:
                    self.bench.store.sessions.remove_tag(session, tag)
            for tag in tags:
                self.bench.store.sessions.add_tag(session, tag)

        self._try(set_them)

    def tag(self, sessions: Sequence[str], tags: Sequence[str]) -> None:
        """Give sessions tags beside those that they have."""

        def add_them() -> None:
            self.bench.store.sessions.add_tags(sessions, tags)
            self.tab.notify("info", f"Tagged {counted(len(sessions), 'session')}.", place=PLACE)

        if tags:
            self._try(add_them)

    def fork(self, session: str) -> None:
        """Open a new session that continues from the current workflow of this one."""
        if not self.tab.pressed_again(f"fork-{session}"):
            self._try(
                lambda: self._open(
                    self.bench.store.sessions.fork(session, self.bench.required_head(session).id).id
                )
            )

    def open_source(self, revision: str) -> None:
        """Open the session that a fork of this revision was made from."""
        source = source_of(self.bench, revision)
        if source is None:
            text = "The session that this one was forked from was removed."
            self.tab.notify("info", text, place=PLACE)
        else:
            self._open(source[1].id)

    def compare(self, session: str) -> None:
        """Compare the session as it is now with how it was before."""
        pair = last_two(self.bench.store, session)
        if pair is None:
            text = "There is no earlier run or revision to compare with."
            self.tab.notify("info", text, place=PLACE)
        else:
            self.listed.leave_for(COMPARE_PAGE, compare_query(*pair))

    def _open(self, session: str) -> None:
        self.tab.open(session)
        self.listed.leave_for("pages/workbench.py", {"session": session})

    def export(self, sessions: Sequence[str]) -> None:
        """Give sessions out as one file."""
        self.listed.want_file(sessions)

    def report(self, session: str) -> None:
        """Export the newest run of a session as a separate page."""

        def give() -> None:
            store = self.bench.store
            self.listed.file = report_download(store, store.sessions.find(session))

        self._try(give)

    def delete(self, sessions: Sequence[str], *, name: str | None = None) -> None:
        """Delete sessions, which can be undone."""

        def delete_them() -> None:
            self.bench.store.sessions.delete_all(sessions)
            self.listed.deleted = Deleted(tuple(sessions), name)
            self.listed.select_also(sessions, selected=False)
            if self.tab.remembered in sessions:
                self.tab.open(None)

        self._try(delete_them)

    def restore(self, sessions: Sequence[str]) -> None:
        """Bring sessions back to their places."""

        def restore_them() -> None:
            self.bench.store.sessions.restore_all(sessions)
            self.listed.select_also(sessions, selected=False)
            if self.listed.deleted is not None and set(self.listed.deleted.ids) <= set(sessions):
                self.listed.deleted = None

        self._try(restore_them)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except ConductorError as error:
            self.tab.notify("error", str(error), place=PLACE)
