"""What was typed is sent before the press that followed it, each in a message of its own."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "conductor_text_first",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def text_first() -> None:
    """See to it on this page."""
    _component(key="text-first", height=1)
