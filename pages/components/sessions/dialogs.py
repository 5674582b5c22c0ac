"""The dialogs of the sessions page: a session's name, its tags, and tags for all that are selected."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.text.formatting import counted
from pages.components.sessions.actions import SessionActions
from pages.components.sessions.list_state import SessionList
from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.tab.state import plain
from storage import MAX_TITLE

_TITLES = {"rename": "Rename", "tags": "Tags", "tag": "Tag the selected sessions"}


def session_dialog(listed: SessionList, actions: SessionActions) -> None:
    """Draw the dialog that is open, if one is."""
    if listed.asked is None:
        return
    what, session = listed.asked
    dialog_theme()
    draw = {"rename": _rename, "tags": _tags, "tag": _tag_selected}[what]
    st.dialog(_TITLES[what], on_dismiss=listed.close)(draw)(listed, actions, session)


def _rename(listed: SessionList, actions: SessionActions, session: str) -> None:
    key = f"title-{session}-{listed.times_asked}"
    title = actions.bench.store.sessions.find(session).title

    def save() -> None:
        listed.close()
        actions.rename(session, st.session_state[key], drawn=title)

    with st.form(f"form-{key}", border=False):
        st.text_input("Title", value=title, key=key, max_chars=MAX_TITLE)
        if st.form_submit_button("Save", type="primary", on_click=save):
            st.rerun()


def _tags(listed: SessionList, actions: SessionActions, session: str) -> None:
    key = f"tags-{session}-{listed.times_asked}"

    def save() -> None:
        listed.close()
        actions.set_tags(session, st.session_state[key])

    found = actions.bench.store.sessions.find(session)
    st.caption(plain(found.title, limit=110))
    _tag_form(actions, key, chosen=list(actions.bench.store.sessions.tags(session)), save=save, label="Save")


def _tag_selected(listed: SessionList, actions: SessionActions, _session: str) -> None:
    key = f"tag-selected-{listed.times_asked}"
    selected = listed.selected

    def save() -> None:
        listed.close()
        actions.tag(selected, st.session_state[key])

    st.caption(f"{counted(len(selected), 'session')} get these tags in addition to their own.")
    _tag_form(actions, key, chosen=[], save=save, label="Add tags")


def _tag_form(
    actions: SessionActions, key: str, *, chosen: list[str], save: Callable[[], None], label: str
) -> None:
    with st.form(f"form-{key}", border=False):
        st.multiselect(
            "Tags",
            list(dict.fromkeys((*actions.bench.store.sessions.known_tags(), *chosen))),
            default=chosen,
            key=key,
            accept_new_options=True,
            placeholder="Choose tags, or write a new one and press Enter",
            select_all=False,
        )
        if st.form_submit_button(label, type="primary", on_click=save):
            st.rerun()
