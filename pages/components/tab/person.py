"""The person whose tab the current thread draws."""

from __future__ import annotations

from urllib.parse import unquote

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from studio.access.login import PERSON
from studio.sessions.notes import author


def person() -> str | None:
    """The name of the person who is logged in, else the one that the environment names; None if unknown.

    What a thread does that draws no tab is done for no person of a browser.
    """
    draws = get_script_run_ctx(suppress_warning=True) is not None
    named = st.context.headers.get(PERSON) if draws else None
    return author() if named is None else unquote(named)
