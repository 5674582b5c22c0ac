"""What a component sent is read also where Streamlit has dropped its state."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.components.streamlit_patches import component
from pages.components.streamlit_patches.component import trigger_value


def test_a_trigger_of_a_page_that_was_left_sent_nothing(tab):
    del tab
    assert trigger_value("compare-clock", "replay") is None
    st.session_state["compare-clock"] = type("State", (), {"replay": {"playing": True}})
    assert trigger_value("compare-clock", "replay") == {"playing": True}


def test_streamlit_gets_no_list_in_which_it_would_look_for_a_table(monkeypatch):
    mounts = []
    monkeypatch.setattr(st.components.v2, "component", lambda *_, **__: lambda **data: mounts.append(data))
    own = component.component("conductor_test", str(Path(component.__file__)), js="connection.js")
    own(key="a", data={"rows": [["one"], "two"], "of": {"rows": []}, "at": 3})
    own(key="b", height=1)
    assert mounts == [
        {"key": "a", "data": {"rows": (["one"], "two"), "of": {"rows": []}, "at": 3}},
        {"key": "b", "data": None, "height": 1},
    ]
