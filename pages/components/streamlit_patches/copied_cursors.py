"""Copies Streamlit's cursors, which name places on the page, by their few values.

Streamlit copies all open places with each fragment that a page draws, by `copy.deepcopy`, which takes each
cursor and its empty list apart: some tenth of the processor time of a whole page. Knows the values of a
cursor, no page.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from streamlit.cursor import Cursor, SparseList


def copy_cursors_by_value() -> None:
    """In all sessions of this process."""
    Cursor.__deepcopy__ = _copied  # type: ignore[attr-defined]


def _copied(cursor: Cursor, memo: dict[int, Any]) -> Cursor:
    copied = object.__new__(type(cursor))
    # All other values are numbers, or tuples of numbers.
    waiting = cursor._transient_elements
    copied.__dict__ = cursor.__dict__ | {
        "_transient_elements": deepcopy(waiting, memo) if len(waiting) else SparseList()
    }
    return copied
