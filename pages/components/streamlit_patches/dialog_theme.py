"""Gives dialogs the app's colour scheme.

Streamlit draws a dialog outside the element on which it sets `color-scheme`, so `light-dark()` in a dialog
follows the operating system instead of the theme. Knows that element's name, no dialog.
"""

from __future__ import annotations

import streamlit as st


def dialog_theme() -> None:
    """Set the colour scheme of the dialog that the page draws next."""
    scheme = st.context.theme.type or "normal"
    st.html(f"<style>[data-testid=stDialog] {{ color-scheme: {scheme} }}</style>")
