"""What a component sent is read also where Streamlit has dropped its state."""

from __future__ import annotations

import streamlit as st

from pages.components.streamlit_patches.component import trigger_value


def test_a_trigger_of_a_page_that_was_left_sent_nothing(tab):
    del tab
    assert trigger_value("compare-clock", "replay") is None
    st.session_state["compare-clock"] = type("State", (), {"replay": {"playing": True}})
    assert trigger_value("compare-clock", "replay") == {"playing": True}
