"""Who edits in this tab, as revisions and outputs by hand name it. Knows the settings, no session."""

from __future__ import annotations

import os

import streamlit as st

AUTHOR = "CONDUCTOR_AUTHOR"
"""Names the environment variable with who uses this app, where nobody logs in."""


def author() -> str | None:
    """Who is logged in by Streamlit's own login, else whom `AUTHOR` names; None where nobody says."""
    user = st.user.to_dict()
    known = (user.get("name") or user.get("email")) if user.get("is_logged_in") else None
    return str(known) if known else os.environ.get(AUTHOR) or None
