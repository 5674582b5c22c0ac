"""The script can be run outside a session without a warning, and only there."""

from __future__ import annotations

import logging

import streamlit as st

from pages.components.streamlit_patches.bare_run import LOGGER, in_session, without_session


def warned(caplog, draw):
    """Whether Streamlit warns about a missing session while `draw` is called."""
    caplog.clear()
    draw()
    return [record.name for record in caplog.records if "ScriptRunContext" in record.getMessage()]


def test_streamlit_warns_about_a_call_outside_a_session_unless_the_patch_is_in_force(caplog):
    caplog.set_level(logging.WARNING, logger=LOGGER)
    assert set(warned(caplog, lambda: st.session_state.get("name"))) == {LOGGER}
    with without_session():
        assert not warned(caplog, lambda: st.session_state.get("name"))
    assert warned(caplog, lambda: st.session_state.get("name"))
    assert not in_session()
