"""Imports at the start of the server what Streamlit imports when the first page is drawn.

pandas and pyarrow take about a second together, which the first visitor would wait.
"""

from __future__ import annotations


def import_early() -> None:
    """Import pandas and pyarrow, which no module here uses itself."""
    import pandas  # noqa: F401, PLC0415 - not before the server starts
    import pyarrow  # noqa: F401, PLC0415 - the same
