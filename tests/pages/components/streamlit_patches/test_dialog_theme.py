"""A dialog has the colour scheme of the app."""

from __future__ import annotations

import pytest
import streamlit as st

from pages.components.streamlit_patches.dialog_theme import dialog_theme


@pytest.mark.parametrize(("theme", "scheme"), [("dark", "dark"), ("light", "light"), (None, "normal")])
def test_the_page_sets_the_colour_scheme_of_the_theme_on_dialogs(theme, scheme, monkeypatch):
    styles = []
    monkeypatch.setattr(type(st.context.theme), "type", theme, raising=False)
    monkeypatch.setattr(st, "html", styles.append)
    dialog_theme()
    assert styles == [f"<style>[data-testid=stDialog] {{ color-scheme: {scheme} }}</style>"]
