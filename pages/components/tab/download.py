"""A file for the browser to keep, made in the run of the page in which its button was pressed.

Streamlit's own download button asks for the file beside the run of the page, so it can overtake an edit
that the same click has just committed; this one cannot. Knows no workflow.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "conductor_download",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


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
