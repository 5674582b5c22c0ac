"""A copied cursor names the same place, and moves by itself."""

from __future__ import annotations

import copy

import pytest
from streamlit.cursor import Cursor, LockedCursor, RunningCursor

from pages.components.streamlit_patches.messages import copy_cursors_by_value

OPEN = RunningCursor(root_container=1, parent_path=(0, 3))
LOCKED = LockedCursor(root_container=0, parent_path=(2,), index=5)


@pytest.fixture
def patched(monkeypatch):
    monkeypatch.setattr(Cursor, "__deepcopy__", None, raising=False)
    copy_cursors_by_value()


def values(cursor):
    own = vars(cursor) | {"_transient_elements": dict(cursor.transient_elements.items())}
    return type(cursor), own


def test_without_the_patch_streamlit_has_each_cursor_taken_apart():
    assert not hasattr(Cursor, "__deepcopy__")


@pytest.mark.parametrize("cursor", [OPEN, LOCKED, OPEN.open_block(), LOCKED.open_block()])
def test_a_copy_has_the_values_that_copying_one_by_one_gives(cursor, patched, monkeypatch):
    copied = copy.deepcopy(cursor)
    monkeypatch.undo()
    assert values(copied) == values(copy.deepcopy(cursor)) == values(cursor)
    # What is shared by the copy cannot change.
    others = [value for name, value in vars(cursor).items() if name != "_transient_elements"]
    assert {type(value) for value in others} <= {int, tuple, type(None)}


def test_a_copy_moves_by_itself(patched):
    cursor = RunningCursor(root_container=0)
    cursor.lock_element()
    cursor.get_transient_cursor().transient_elements[0] = ["waits"]
    copied = copy.deepcopy(cursor)
    assert values(copied) == values(cursor)
    assert copied.transient_elements[0] is not cursor.transient_elements[0]
    copied.lock_element()
    assert (cursor.index, copied.index, len(cursor.transient_elements), len(copied.transient_elements)) == (
        1,
        2,
        1,
        0,
    )
