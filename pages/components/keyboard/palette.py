"""A box to type in (Ctrl+K): places with these words, and what can be done, by name.

A Streamlit component (v2). Filters what can be done in the browser; what is typed goes to the server, which
sends the places. Knows no session; texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from pages.components.keyboard.shortcuts import commands
from pages.components.streamlit_patches.component import component


class PaletteRow(TypedDict):
    """A place in a text: `where` it is, and the words with what stands around them."""

    where: str
    before: str
    words: str
    after: str


_component = component(
    "conductor_palette",
    __file__,
    html='<dialog class="palette" aria-label="Find in this session"></dialog>',
    css="palette.css",
    js="palette.js",
    isolated=False,
)


def find_box(
    rows: Sequence[PaletteRow],
    *,
    query: str,
    key: str,
    on_typed: Callable[[], None],
    on_chosen: Callable[[], None],
) -> None:
    """Show the `rows` found for `query`. `st.session_state[key]` has, both untrusted,

    - `typed`: what is looked for now (trigger; then `on_typed`);
    - `chosen`: {"query", "at"}, a row of that query by its place (trigger; then `on_chosen`).
    """
    data = {"query": query, "rows": list(rows), "commands": commands()}
    _component(key=key, data=data, height=1, on_typed_change=on_typed, on_chosen_change=on_chosen)
