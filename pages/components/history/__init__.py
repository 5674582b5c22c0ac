"""A tree of revisions as a Streamlit component: rows with lines in, the selected one out.

Knows Streamlit and the files beside it; knows no session. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pages.components.streamlit_patches.component import component

_history = component(
    "conductor_history",
    __file__,
    html="""<div class="history">
  <div class="rows" role="listbox" aria-label="History: revisions, newest first" tabindex="0"></div>
</div>""",
    css="history.css",
    js="history.js",
)


def history_tree(rows: Sequence[Mapping[str, Any]], *, key: str, selected: str | None) -> Any:
    """Show `rows`, newest first; the result has `selected`: {"id"} of the row last chosen (state).

    A row is {"id", "number", "note", "facts", "runs", "tests", "tested", "origin", "standing", "way", "lane",
    "above", "below", "joins", "passing", "current"}, the last six as in `conductor.workflow.history`; "way"
    is whether the current revision is above it. "tested" has "tests" in words.
    `selected` is the id of the row to mark.
    """
    data = {"rows": [dict(row) for row in rows], "selected": selected}
    return _history(key=key, data=data, default={"selected": None}, on_selected_change=lambda: None)
