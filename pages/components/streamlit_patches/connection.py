"""Shows a line while the server does not answer, and reconnects without losing anything.

Streamlit loads the script of an element when it first draws one; if the server does not answer then, the
element stays an error box until the page is reloaded. A restarted server knows nothing of an open page until
the page sends a message. Streamlit's own dialog about the connection covers the page. Knows the files of
Streamlit's frontend, no page.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

from pages.components.streamlit_patches.component import component

ELEMENTS = (
    "BidiComponent", "Button", "ButtonGroup", "ChatInput", "Checkbox", "DateInput", "Feedback",
    "FileUploader", "Html", "LinkButton", "MenuButton", "Multiselect", "NumberInput", "PageLink",
    "Pagination", "Progress", "Radio", "Selectbox", "Spinner", "StreamlitSyntaxHighlighter", "Table",
    "TextArea", "TextInput", "Toast",
)  # fmt: skip
"""Streamlit's names for the scripts of the elements on the pages, without those that every page loads."""

_SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"

_component = component(
    "conductor_connection",
    __file__,
    html='<div class="server-away" role="status" hidden></div>',
    js="connection.js",
    isolated=False,
)


@cache
def scripts() -> tuple[str, ...]:
    """The names of the elements' script files, which contain their versions."""
    files = {path.name.split(".")[0]: path.name for path in _SCRIPTS.glob("*.js")}
    return tuple(files[element] for element in ELEMENTS if element in files)


def connection() -> None:
    with st.container(key="connection"):
        # The message alone makes Streamlit draw the page.
        _component(key="server-away", data={"scripts": scripts()}, height=1, on_back_change=lambda: None)
