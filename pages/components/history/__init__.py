"""A tree of revisions as a Streamlit component: rows with lines in, the selected one out.

Knows Streamlit and the files beside it; knows no session. Texts reach the page in text nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__).parent


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


_history = st.components.v2.component(
    "conductor_history", html=_read("history.html"), css=_read("history.css"), js=_read("history.js")
)


def history_tree(rows: Sequence[Mapping[str, Any]], *, key: str, selected: str | None) -> Any:
    """Show `rows`, newest first; the result has `selected`: {"id"} of the row last chosen (state).

    A row is {"id", "number", "note", "facts", "runs", "origin", "standing", "way", "lane", "above", "below",
    "joins", "passing", "current"}, the last six as in `conductor.workflow.history`; "way" is whether the
    current revision is above it. `selected` is the id of the row to mark.
    """
    data = {"rows": [dict(row) for row in rows], "selected": selected}
    return _history(key=key, data=data, default={"selected": None}, on_selected_change=lambda: None)
