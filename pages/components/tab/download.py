"""A file for the browser to keep, made in the run of the page in which its button was pressed.

Streamlit's own download button asks for the file beside the run of the page, so it can overtake an edit
that the same click has just committed; this one cannot. Knows no workflow.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import streamlit as st

from pages.components.streamlit_patches.component import component

_component = component("conductor_download", __file__, js="download.js", isolated=False)


@dataclass(frozen=True, slots=True)
class Download:
    """A file to give out; `id` distinguishes it from an earlier one of the same name and text."""

    id: str
    name: str
    mime: str
    text: str


def download(file: Download) -> None:
    """Give `file` out; drawn again, it is not given out again."""
    with st.container(key="download"):
        _component(key="download-file", data=asdict(file), height=1)
