"""A box to type in (Ctrl+K): places to go to, words in texts, and what can be done, by name.

A Streamlit component (v2). Filters places and what can be done in the browser, letters in their order with
gaps, those chosen last first; what is typed goes to the server, which sends what it finds. Knows no session;
texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict

from pages.components.keyboard.shortcuts import commands
from pages.components.streamlit_patches.component import component


class PaletteRow(TypedDict):
    """A row with an `id` of its own: what `kind` of place it is, and its `name` with some `detail`.

    `text`: the words in question, with what stands before and after them.
    """

    id: str
    kind: str
    name: str
    detail: NotRequired[str]
    text: NotRequired[tuple[str, str, str]]


_component = component(
    "conductor_palette",
    __file__,
    html='<dialog class="palette" aria-label="Find"></dialog>',
    css="palette.css",
    js="palette.js",
    isolated=False,
)


def find_box(
    rows: Sequence[PaletteRow],
    *,
    places: Sequence[PaletteRow],
    query: str,
    key: str,
    on_typed: Callable[[], None],
    on_chosen: Callable[[], None],
) -> None:
    """Show the `rows` that the server has for `query`, and those of `places` that match what is typed.

    `st.session_state[key]` has, both untrusted,

    - `typed`: what is looked for now (trigger; then `on_typed`);
    - `chosen`: {"query", "id"}, a row of that query or a place (trigger; then `on_chosen`).
    """
    data = {"query": query, "rows": list(rows), "places": list(places), "commands": commands()}
    _component(key=key, data=data, height=1, on_typed_change=on_typed, on_chosen_change=on_chosen)
