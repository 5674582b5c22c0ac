"""The access grid as a Streamlit component: rows in, selections and requested access out.

Knows Streamlit and the files beside it; knows no workflow and no run. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pages.components.streamlit_patches.component import component

_grid = component(
    "conductor_access_grid",
    __file__,
    html="""<div class="access">
  <div class="frame"><div class="grid" role="grid" aria-label="Access: who may read whom"></div></div>
  <div class="status" role="status"></div>
</div>""",
    css="grid.css",
    js="grid.js",
)


def access_grid(
    data: Mapping[str, Any], *, key: str, on_select: Callable[[], None], on_edit: Callable[[], None]
) -> Any:
    """Show a grid of `data`: {"rows", "before", "files", "tools", "locked", "selected", "selected_at",
    "answered", "revision"}, with a row a step as reader; the columns are the same steps, as what may be read.

    A row is {"name", "worker", "mark", "reads", "before", "files", "tools", "has", "written", "means",
    "edited"}: `mark` is its worker's, `reads` are 0-based, `before` is whether it sees the round before,
    `files` whether it sees what is attached, `tools` what it names of its worker's, which are `has`; there is
    a column for each where the grid's `before`, `files` and `tools`. `locked` is why nothing can be changed,
    or None. `selected` counts only where `selected_at` is the "at" of the last choice that was sent;
    `answered` is the "at" of the last request that was handled. The result, also under
    `st.session_state[key]`, has

    - `selected`: {"step", "at"} (state; then `on_select`);
    - `edit`: {"wishes": [{"reader", "read", "sees"}], "at", "revision"}, where "read" is -1 for the round
      before, -2 for the files, and "revision" the `revision` shown (trigger; then `on_edit`). The next one
      comes when this one was answered. They are untrusted: check them.
    """
    return _grid(key=key, data=data, on_selected_change=on_select, on_edit_change=on_edit)
