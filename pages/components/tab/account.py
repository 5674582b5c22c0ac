"""Who uses this tab: the name that revisions and outputs by hand get, and the link to log out.

Knows the settings and the login, no session.
"""

from __future__ import annotations

import os

import streamlit as st

from pages.components.tab.services import access

AUTHOR = "CONDUCTOR_AUTHOR"
"""The environment variable with the name of the app's user, for apps without a login."""


def author() -> str | None:
    """The user of Streamlit's own login, else the name in `AUTHOR`; None where neither is known."""
    user = st.user.to_dict()
    known = (user.get("name") or user.get("email")) if user.get("is_logged_in") else None
    return str(known) if known else os.environ.get(AUTHOR) or None


_LINK = '<a href="./logout" target="_self">Log out</a>'


def log_out() -> None:
    """Draw the link, where the app has a password."""
    if access().password is not None:
        with st.sidebar:
            st.html(_LINK)
