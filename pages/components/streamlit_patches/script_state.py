"""Whether the browser has a connection and whether the page is being drawn, for the JavaScript of components.

Streamlit gives components no such state: it writes both to attributes of its outermost element, for its own
tests. Knows these attributes, no component.
"""

from __future__ import annotations

from pathlib import Path

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def with_script_state(script: str) -> str:
    """The ES module `script` with `connected()` and `drawing()` defined in it."""
    return f"{_SCRIPT}\n{script}"
