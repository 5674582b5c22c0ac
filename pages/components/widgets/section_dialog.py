"""A section of the documentation, in a dialog over whatever page it was asked for."""

from __future__ import annotations

import streamlit as st

from pages.components.streamlit_patches.dialog_theme import dialog_theme
from studio.documentation import Section, sections

_OPEN = "documentation-open"


def open_section(id: str) -> None:
    """Have the dialog open on the next run of the page, at the section with this id."""
    st.session_state[_OPEN] = id


def section_dialog() -> None:
    """Draw it while it is open."""
    section = next((each for each in sections() if each.id == st.session_state.get(_OPEN)), None)
    if section is not None:
        st.dialog(section.page, width="large", on_dismiss=_close)(_text)(section)


def _close() -> None:
    st.session_state.pop(_OPEN, None)


def _text(section: Section) -> None:
    dialog_theme()
    st.markdown(section.text)
