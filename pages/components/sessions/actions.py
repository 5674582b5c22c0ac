"""Actions on listed sessions, one or many at once, and the dialogs that ask for more.

Errors stand above the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from conductor.errors import ConductorError
from conductor.text.formatting import quantity
from pages.components.sessions.forked_from import source_of
from pages.components.sessions.import_export import run_download
from pages.components.sessions.list_state import Deleted, SessionList
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import last_two
from pages.components.widgets.controls import COMPARE_PAGE, compare_query
from pages.components.widgets.dialog import Dialog
from storage import MAX_TITLE
from studio.sessions.retention import restore
from studio.workbench import Workbench

PLACE = "sessions"
"""Where notices of this page stand."""

DialogKind = Literal["rename", "tag", "tags"]
"""A dialog: a session's name, a session's tags, a tag for all that are selected."""

DIALOG = Dialog[tuple[DialogKind, str]]("session-dialog")
"""Has the session that it is about, "" for those selected."""


@dataclass(frozen=True, slots=True)
class SessionActions:
    """Callbacks of one tab; each has the same effect when it comes twice."""

    bench: Workbench
    tab: TabState
    listed: SessionList

    @contextmanager
    def _errors_noted(self) -> Iterator[None]:
        try:
            yield
        except ConductorError as error:
            self.tab.notify("error", str(error), place=PLACE)

    def rename(self, session: str, title: str, *, before: str) -> None:
        """Give a session another title than `before`; an empty one is refused, and so is any where
        another person gave it a title meanwhile.
        """
        if not title.strip():
            text = "A title needs at least one character; the old one stays."
            self.tab.notify("error", text, place=PLACE)
            return
        with self._errors_noted():
            there, new_title = self.bench.store.sessions.find(session).title, " ".join(title.split())
            if there in (before, new_title):
                self.bench.store.sessions.rename(session, new_title)
            else:
                text = f"Not renamed to “{new_title}”: its title was changed to “{there}” meanwhile."
                self.tab.notify("info", f"{text} Rename it again to use yours.", place=PLACE)

    def set_tags(self, session: str, tags: Sequence[str]) -> None:
        """Have a session tagged with these and no others."""
        with self._errors_noted():
            for tag in self.bench.store.sessions.tags(session):
                if tag not in tags:
                    self.bench.store.sessions.remove_tag(session, tag)
            for tag in tags:
                self.bench.store.sessions.add_tag(session, tag)

    def tag(self, sessions: Sequence[str], tags: Sequence[str]) -> None:
        """Give sessions tags beside those that they have."""
        if not tags:
            return
        with self._errors_noted():
            self.bench.store.sessions.add_tags(sessions, tags)
            self.tab.notify("info", f"Tagged {quantity(len(sessions), 'session')}.", place=PLACE)

    def fork(self, session: str) -> None:
        """Open a new session that continues from the current workflow of this one."""
        if self.tab.pressed_again(f"fork-{session}"):
            return
        with self._errors_noted():
            self._open(self.bench.store.sessions.fork(session, self.bench.required_head(session).id).id)

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
        """Give sessions out as one file when the page is drawn."""
        self.listed.exports = tuple(sessions)

    def report(self, session: str) -> None:
        """Export the newest run of a session in one file."""
        with self._errors_noted():
            store = self.bench.store
            self.listed.file = run_download(store, store.sessions.find(session))

    def delete(self, sessions: Sequence[str], *, name: str | None = None) -> None:
        """Delete sessions, which can be undone."""
        with self._errors_noted():
            self.bench.store.sessions.delete(*sessions)
            self.listed.deleted = Deleted(tuple(sessions), name)
            self.listed.select_also(sessions, selected=False)
            if self.tab.remembered in sessions:
                self.tab.open(None)

    def restore(self, sessions: Sequence[str]) -> None:
        """Bring sessions back to their places."""
        with self._errors_noted():
            restore(self.bench.store, *sessions)
            self.listed.select_also(sessions, selected=False)
            if self.listed.deleted is not None and set(self.listed.deleted.ids) <= set(sessions):
                self.listed.deleted = None


# -- dialogs ---------------------------------------------------------------------------------------


def session_dialog(actions: SessionActions) -> None:
    """Draw the dialog that is open, if one is."""
    titles = {"rename": "Rename", "tags": "Tags", "tag": "Tag the selected sessions"}
    draws = {"rename": _rename, "tags": _tags, "tag": _tag_selected}
    DIALOG.show(lambda of: titles[of[0]], lambda of: draws[of[0]](actions, of[1]))


def _rename(actions: SessionActions, session: str) -> None:
    key = f"title-{session}-{DIALOG.serial}"
    title = actions.bench.store.sessions.find(session).title

    def save() -> None:
        DIALOG.close()
        actions.rename(session, st.session_state[key], before=title)

    with st.form(f"form-{key}", border=False):
        st.text_input("Title", value=title, key=key, max_chars=MAX_TITLE)
        if st.form_submit_button("Save", type="primary", on_click=save):
            st.rerun()


def _tags(actions: SessionActions, session: str) -> None:
    record = actions.bench.store.sessions.find(session)
    st.caption(plain(record.title, limit=110))
    _tag_form(
        actions,
        f"tags-{session}-{DIALOG.serial}",
        chosen=list(actions.bench.store.sessions.tags(session)),
        save=lambda tags: actions.set_tags(session, tags),
        label="Save",
    )


def _tag_selected(actions: SessionActions, _session: str) -> None:
    selected = actions.listed.selected
    st.caption(f"{quantity(len(selected), 'session')} get these tags in addition to their own.")
    _tag_form(
        actions,
        f"tag-selected-{DIALOG.serial}",
        chosen=[],
        save=lambda tags: actions.tag(selected, tags),
        label="Add tags",
    )


def _tag_form(
    actions: SessionActions,
    key: str,
    *,
    chosen: list[str],
    save: Callable[[Sequence[str]], None],
    label: str,
) -> None:
    def submit() -> None:
        DIALOG.close()
        save(st.session_state[key])

    with st.form(f"form-{key}", border=False):
        st.multiselect(
            "Tags",
            list(dict.fromkeys((*actions.bench.store.sessions.facet_names("tag"), *chosen))),
            default=chosen,
            key=key,
            accept_new_options=True,
            placeholder="Choose tags, or write a new one and press Enter",
            select_all=False,
        )
        if st.form_submit_button(label, type="primary", on_click=submit):
            st.rerun()
