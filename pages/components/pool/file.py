"""The pool file: where it is wrong, and a box to correct it in.

Keys that were pasted into the file are not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from conductor.errors import PoolError
from conductor.workers.keys.mask import MASK
from conductor.workers.pool.public_text import left_masked, lines_around, mask_keys
from conductor.workers.pool.toml_editor import PoolDocument
from pages.components.keyboard.focus import focus_fallback
from pages.components.tab.state import plain
from pages.components.widgets.controls import action
from pages.components.widgets.pool_saving import save

focus_fallback("pool-text-save", "pool-undo", "pool-add")

_TYPED = "pool-text"
_FAULT = "pool-text-fault"


def file_fault(document: PoolDocument, error: PoolError) -> None:
    """Show what is wrong with the file, and the place."""
    st.error(plain(str(error), limit=1000), icon=":material/error:")
    if error.line is not None:
        st.code(lines_around(document.text, error.line), language=None)


# -- as text ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A box with a document's text, and a serial, by which a new box is made."""

    document: PoolDocument
    serial: int

    @property
    def key(self) -> str:
        return f"pool-text-{self.serial}"

    @property
    def touched(self) -> bool:
        """Whether a person has typed there."""
        own = mask_keys(self.document.text)
        return bool(st.session_state.get(self.key, own) != own)


def text_editor(document: PoolDocument) -> None:
    """The whole file in a box; it is saved only where it describes a pool."""
    box = cast("Box | None", st.session_state.get(_TYPED))
    # What was typed stays, also where the file was changed in the meantime.
    if box is None or (box.document != document and not box.touched):
        box = Box(document, st.session_state.get("pool-texts", 0) + 1)
        st.session_state["pool-texts"] = box.serial
        st.session_state[_TYPED] = box
    with st.container(key="pool-editor"):
        st.text_area(
            "Pool file",
            mask_keys(box.document.text),
            key=box.key,
            height=360,
            help="Only a valid pool is saved. Do not put API keys into this file.",
        )
    fault = cast("PoolError | None", st.session_state.get(_FAULT))
    if fault is not None:
        with st.container(key="pool-text-fault-place"):
            file_fault(document.with_text(st.session_state[box.key]), fault)
    with st.container(horizontal=True):
        action("Save file", "save", _save, box, key="pool-text-save", redraw=False)
        st.button("Discard changes", key="pool-text-reset", on_click=_reset)


def _reset() -> None:
    st.session_state[_TYPED] = st.session_state[_FAULT] = None


def _save(box: Box) -> None:
    st.session_state[_FAULT] = None
    if not box.touched:
        return
    text = st.session_state[box.key]
    try:
        line = left_masked(text, original=box.document.text)
        if line is not None:
            raise PoolError(
                f"Line {line} has what looks like a key, hidden as {MASK}. Name a variable in "
                "api_key_env instead.",
                line=line,
            )
        save(box.document.with_text(text), notice=f"{box.document.path} was saved.")
    except PoolError as error:
        st.session_state[_FAULT] = error
    else:
        _reset()
