"""A dialog of a tab: what it is about while it is open. Knows no content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeVar, cast

import streamlit as st

from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.tab.state import plain
from pages.components.widgets.controls import action

T = TypeVar("T")


class Dialog(Generic[T]):
    """Its content is in the tab's state under `key`. Each opening has another `serial`, for new fields."""

    def __init__(self, key: str) -> None:
        self._key, self._openings = key, f"{key}-openings"

    @property
    def content(self) -> T | None:
        """What it is about; None while it is closed."""
        return cast("T | None", st.session_state.get(self._key))

    @property
    def serial(self) -> int:
        return cast("int", st.session_state.get(self._openings, 0))

    def open(self, content: T) -> None:
        """Show it on the next run of the page."""
        st.session_state[self._openings] = self.serial + 1
        self.change(content)

    def change(self, content: T) -> None:
        """Go on with another content, in the same fields."""
        st.session_state[self._key] = content

    def close(self) -> None:
        st.session_state[self._key] = None

    def show(
        self,
        title: str | Callable[[T], str],
        draw: Callable[[T], object],
        *,
        width: Literal["small", "medium", "large"] = "small",
    ) -> None:
        """Draw it with what `draw` makes of its content; nothing while it is closed."""
        opened = self.content
        if opened is None:
            return

        def part() -> None:
            content = self.content
            if content is None:
                st.rerun()
            draw(content)

        dialog_theme()
        title = title if isinstance(title, str) else title(opened)
        st.dialog(title, width=width, on_dismiss=self.close)(part)()

    def buttons(
        self,
        label: str,
        icon: str,
        do: Callable[..., object],
        *args: object,
        key: str,
        fault: str | None = None,
    ) -> None:
        """Draw the one that does `do(*args)` and the one that closes it, below what is wrong, "" for nothing
        so far.
        """
        if fault is not None:
            # A container that is always there holds the buttons in place, and the focus with them.
            with st.container(key=f"{self._key}-fault"):
                if fault:
                    st.error(plain(fault), icon=":material/error:")
        with st.container(horizontal=True):
            action(label, icon, do, *args, key=key, type="primary", redraw=False)
            st.button("Cancel", key=f"{self._key}-cancel", on_click=self.close)
