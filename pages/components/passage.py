"""Text from models and people, shown letter for letter: no Markdown, no HTML, with a copy button.

A small Streamlit component (v2). Knows text in parts, nothing of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import streamlit as st

_HERE = Path(__file__).parent
_HTML = """<div class="passage">
<div class="passage-head"><span class="passage-heading"></span><span class="passage-notes"></span>
<button class="passage-copy" type="button">Copy</button></div>
<div class="passage-body" tabindex="0" role="region"></div>
</div>"""

Tone = Literal["", "quiet", "query", "seen", "task"]


class Stretch(NamedTuple):
    """A stretch of text, how it is tinted, and what a pointer resting on it is told."""

    text: str
    tone: Tone = ""
    title: str = ""


_passage = st.components.v2.component(
    "conductor_passage",
    html=_HTML,
    css=(_HERE / "passage.css").read_text(encoding="utf-8"),
    js=(_HERE / "passage.js").read_text(encoding="utf-8"),
)


def passage(
    text: str | Sequence[Stretch],
    *,
    key: str,
    label: str,
    notes: Sequence[str] = (),
    heading: bool = True,
    framed: bool = True,
    copy: bool = True,
    live: bool = False,
    height: int | None = None,
) -> None:
    """Show `text` under its `label` and `notes` (what must be said of it, such as "offline").

    Without `heading` the label is for screen readers only. `height` (pixels) makes the text scroll inside.
    """
    parts = [Stretch(text)] if isinstance(text, str) else text
    data = {
        "parts": [list(part) for part in parts],
        "label": label,
        "notes": list(notes),
        "heading": heading,
        "framed": framed,
        "copy": copy,
        "live": live,
        "height": height,
    }
    _passage(key=key, data=data)
