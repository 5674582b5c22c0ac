"""The access grid as a Streamlit component: rows in, selections and requested access out.

Knows Streamlit and the files beside it; knows no workflow and no run. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

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


class GridData(TypedDict):
    """What is shown: a row a step and reader; the columns are the same steps, as what may be read.

    A row is {"name", "worker", "mark", "reads", "before", "files", "tools", "has", "written", "means",
    "edited"}: `mark` is its worker's, `reads` are 0-based, `before` is whether it sees the round before,
    `files` whether it sees what is attached, `tools` what it names of its worker's, which are `has`; there is
    a column for each where the grid's `before`, `files` and `tools`. `locked` is why
    nothing can be changed, or None. `selected` counts only where `selected_at` is the "at" of the last
    choice that was sent; `answered` is the "at" of the last request that was handled.
    """

    rows: Sequence[Mapping[str, Any]]
    before: bool
    files: bool
    tools: bool
    locked: str | None
    selected: int | None
    selected_at: int | None
    answered: int | None
    revision: str


def access_grid(
    data: GridData, *, key: str, on_select: Callable[[], None], on_edit: Callable[[], None]
) -> Any:
    """Show a grid. The result, also under `st.session_state[key]`, has

    - `selected`: {"step", "at"} (state; then `on_select`);
    - `edit`: {"wishes": [{"reader", "read", "sees"}], "at", "revision"}, where "read" is -1 for the round
      before, -2 for the files, and "revision" the `revision` shown (trigger; then `on_edit`). The next one
      comes when this one was answered. They are untrusted: check them.
    """
    return _grid(key=key, data=data, on_selected_change=on_select, on_edit_change=on_edit)
