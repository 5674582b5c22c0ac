"""Where keyboard focus goes when the button that has it goes, or can no longer be pressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "conductor_focus",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,
)

Heirs = Mapping[str, Sequence[str]]
"""The key of a button, or of a box of buttons, and the keys of who gets its focus: the first that can be
used. A button that was only drawn anew keeps it."""


def keep_focus(heirs: Heirs) -> None:
    """Watch over it on this page."""
    rules = [{"of": _selector(key), "to": [_selector(heir) for heir in to]} for key, to in heirs.items()]
    _component(key="focus", data={"heirs": rules}, height=1)


def _selector(key: str) -> str:
    return f".st-key-{key}"
