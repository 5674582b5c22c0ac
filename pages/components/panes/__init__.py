"""The panes, which move in the browser alone: the content that each shows, and the room that it has.

Streamlit components; they know the page's containers by their keys and nothing of sessions. The server draws
every content; switching between them asks nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pages.components.streamlit_patches.component import component

STYLES = Path(__file__).with_name("panes.css")
"""The places of the workbench: for `st.html`, so that they are there with the page's first words."""

Phase = Literal["ready", "live", "replay", "done"]

_tabs = component(
    "conductor_reading_tabs",
    __file__,
    html='<div class="reading-tabs" role="tablist" aria-label="Shown beside the graph"></div>'
    '<button type="button" class="close-step" aria-label="Close the step">\u00d7</button>',
    js="tabs.js",
    isolated=False,
)
_handle = component(
    "conductor_pane_handle",
    __file__,
    html='<div class="pane-handle" role="separator" tabindex="0"></div>',
    js="handle.js",
    isolated=False,
)
_scroll = component("conductor_pane_scroll", __file__, js="scroll.js", isolated=False)


def reading_tabs(
    *, session: str, phase: Phase, started_at: float, step: int | None, selection: int, part: str | None
) -> None:
    """The tabs of the reading pane, whose contents are the containers "read-answer", "read-step" and
    "read-live".

    A new `phase` shows what belongs to it, as does the end of a newer run (`started_at`: Unix seconds, 0
    without one); a click on a card shows its step. `step` is the one that the server has drawn (0-based),
    `selection` a number that changes when Python selects another one, `part` the part of a
    step that a person chose to see.
    """
    data = {
        "session": session,
        "phase": phase,
        "step": step,
        "selection": selection,
        "started_at": started_at,
        "part": part,
    }
    _tabs(key="reading-tabs", data=data)


def pane_handle(pane: Literal["read", "drawer"], *, label: str) -> None:
    """What a person drags, or moves with the arrow keys, to give a pane more room; the browser remembers."""
    _handle(key=f"handle-{pane}", data={"pane": pane, "label": label})


def scroll_to(key: str) -> None:
    """Hold the container with this key at the top of the drawer until a person scrolls or presses there."""
    _scroll(key=f"scroll-{key}", data={"of": key}, height=1)
