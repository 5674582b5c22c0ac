"""The script can be run outside a session without a warning, and imports what the first page needs."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
import streamlit as st
from uvicorn.protocols.http.h11_impl import H11Protocol

from pages.components.streamlit_patches.startup import LOGGER, close_malformed, in_session, without_session
from studio.api.serving.server import PunctualConnection


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


def test_the_apps_connections_end_where_a_body_is_malformed_as_those_of_the_api(monkeypatch):
    monkeypatch.setattr(H11Protocol, "send_400_response", H11Protocol.send_400_response)
    close_malformed()
    assert H11Protocol.send_400_response is PunctualConnection.send_400_response


SCRIPT = """
import sys
import streamlit
assert "pandas" not in sys.modules and "pyarrow" not in sys.modules
from pages.components.streamlit_patches.startup import import_early
import_early()
assert "pandas" in sys.modules and "pyarrow" in sys.modules
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_streamlit_alone_imports_pandas_and_pyarrow_later():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)
