"""The server of the page with nothing but graphs; run with `streamlit run`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages.components.streamlit_patches.websocket import DisconnectGuard

app = st.App(Path(__file__).with_name("graph_demo.py"), middleware=[Middleware(DisconnectGuard)])
