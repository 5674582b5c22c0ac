"""The dialogs of the sessions page: a session's name, its tags, and tags for all that are picked."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.amounts import counted
from pages.components.session_deeds import SessionDeeds
from pages.components.session_list import SessionList
from pages.components.state import plain
from storage import MAX_TITLE

_TITLES = {"rename": "Rename", "tags": "Tags", "tag": "Tag the picked sessions"}


def session_dialog(listed: SessionList, deeds: SessionDeeds) -> None:
    """Draw the dialog that is open, if one is."""
    if listed.asked is None:
        return
    what, session = listed.asked
    # A dialog stands outside the app's own box, so that it does not know the theme.
    scheme = st.context.theme.type or "normal"
    st.html(f"<style>[data-testid=stDialog] {{ color-scheme: {scheme} }}</style>")
    draw = {"rename": _rename, "tags": _tags, "tag": _tag_picked}[what]
    st.dialog(_TITLES[what], on_dismiss=listed.close)(draw)(listed, deeds, session)


def _rename(listed: SessionList, deeds: SessionDeeds, session: str) -> None:
    key = f"title-{session}-{listed.times_asked}"
    title = deeds.bench.store.session(session).title

    def save() -> None:
        listed.close()
        deeds.rename(session, st.session_state[key], drawn=title)

    with st.form(f"form-{key}", border=False):
        st.text_input("Title", value=title, key=key, max_chars=MAX_TITLE)
        if st.form_submit_button("Save", type="primary", on_click=save):
            st.rerun()


def _tags(listed: SessionList, deeds: SessionDeeds, session: str) -> None:
    key = f"tags-{session}-{listed.times_asked}"

    def save() -> None:
        listed.close()
        deeds.set_tags(session, st.session_state[key])

    found = deeds.bench.store.session(session)
    st.caption(plain(found.title, limit=110))
    _tag_form(deeds, key, chosen=list(deeds.bench.store.tags(session)), save=save, label="Save")


def _tag_picked(listed: SessionList, deeds: SessionDeeds, _session: str) -> None:
    key = f"tag-picked-{listed.times_asked}"
    picked = listed.picked

    def save() -> None:
        listed.close()
        deeds.tag(picked, st.session_state[key])

    st.caption(f"{counted(len(picked), 'session')} get these tags beside their own.")
    _tag_form(deeds, key, chosen=[], save=save, label="Add tags")


def _tag_form(
    deeds: SessionDeeds, key: str, *, chosen: list[str], save: Callable[[], None], label: str
) -> None:
    with st.form(f"form-{key}", border=False):
        st.multiselect(
            "Tags",
            list(dict.fromkeys((*deeds.bench.store.known_tags(), *chosen))),
            default=chosen,
            key=key,
            accept_new_options=True,
            placeholder="Choose tags, or write a new one and press Enter",
            select_all=False,
        )
        if st.form_submit_button(label, type="primary", on_click=save):
            st.rerun()
