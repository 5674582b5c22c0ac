"""Buttons, rows and boxes as every region draws them. Icons are named as Material names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from conductor.errors import ConductorError
from pages.components.tab.state import TabState

Gap = Literal["xxsmall", "xsmall", "small", "medium"]


def action(
    label: str,
    icon: str | None,
    do: Callable[..., object],
    *args: object,
    key: str,
    help: str | None = None,
    disabled: bool = False,
    type: Literal["primary", "secondary", "tertiary"] = "secondary",
    width: Literal["stretch", "content"] = "content",
    place: str | None = None,
    redraw: bool = True,
) -> None:
    """A button that does `do(*args)` before the page is drawn again.

    A `ConductorError` is shown at `place`; None: there is none to expect. `redraw` draws the whole page,
    else only the fragment of the button is drawn.
    """
    tab = TabState()

    def pressed() -> None:
        try:
            do(*args)
        except ConductorError as error:
            if place is None:
                raise
            tab.notify("error", str(error), place=place)
        if redraw:
            tab.ask_redraw()

    symbol = None if icon is None else f":material/{icon}:"
    st.button(
        label, key=key, icon=symbol, help=help, disabled=disabled, type=type, width=width, on_click=pressed
    )


def row(
    key: str | None = None, *, gap: Gap = "small", align: Literal["left", "right"] = "left"
) -> DeltaGenerator:
    """A container whose elements stand side by side, each in the middle of its height."""
    return st.container(
        horizontal=True, horizontal_alignment=align, vertical_alignment="center", gap=gap, key=key
    )


def expander(label: str, icon: str, *, key: str) -> DeltaGenerator | None:
    """A box that is closed at first; None while it is closed, when its content need not be drawn."""
    box = st.expander(label, icon=f":material/{icon}:", key=key, on_change="rerun")
    return box if box.open else None
