"""The workbench's keyboard shortcuts.

Streamlit's own button shortcuts also fire while somebody types in a text field, where Ctrl+Z and
Ctrl+Enter mean something else; these do not.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "conductor_shortcuts",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)

_SHORTCUTS = [
    {"key": "enter", "shift": False, "button": ".st-key-plan", "within": ".st-key-query"},
    {"key": "enter", "shift": True, "button": ".st-key-plan-and-run", "within": ".st-key-query"},
    {"key": "z", "shift": False, "button": ".st-key-undo", "within": None},
    {"key": "z", "shift": True, "button": ".st-key-redo", "within": None},
]


def shortcuts() -> None:
    """Listen for them on this page."""
    _component(key="shortcuts", data={"shortcuts": _SHORTCUTS}, height=1)
