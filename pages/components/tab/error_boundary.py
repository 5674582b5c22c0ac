"""One place where a page's or fragment's error becomes a sentence with a way on, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from conductor.errors import ConductorError
from pages.components.tab.state import plain


@contextmanager
def errors_shown(place: str) -> Iterator[None]:
    """Show a `ConductorError` of the block where it happened; `place` keeps the buttons' keys apart."""
    try:
        yield
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.button("Try again", key=f"again-{place}", icon=":material/refresh:")
