"""The websocket accepts the hosts that the app's own settings allow."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.components.streamlit_patches.allowed_hosts import allow_hosts


@pytest.fixture
def restored():
    before = st.get_option("server.allowedHosts")
    yield
    allow_hosts(before)


def test_streamlits_own_function_refuses_the_option_which_the_patch_sets(restored):
    with pytest.raises(StreamlitAPIException, match="cannot be set"):
        st.set_option("server.allowedHosts", ["studio.test"])
    allow_hosts(["studio.test"])
    assert "studio.test" in st.get_option("server.allowedHosts")
    assert "localhost" in st.get_option("server.allowedHosts")
