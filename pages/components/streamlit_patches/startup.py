"""What Streamlit does between its start and the first page, and what it leaves for later.

The server imports `app.py` once before the first browser connects. Streamlit has no hook for what happens
then, and logs a warning for each call that expects a session. When the first page is drawn it imports pandas
and pyarrow, which take about a second together that the first visitor would wait.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from streamlit import runtime

LOGGER = "streamlit.runtime.scriptrunner_utils.script_run_context"
"""The logger of Streamlit's module that looks for the session of a call."""


def in_session() -> bool:
    """Whether the script runs for a browser; else the server imports it."""
    return runtime.exists()


@contextmanager
def without_session() -> Iterator[None]:
    """Log no warning about the missing session inside the block."""
    logger = logging.getLogger(LOGGER)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def import_early() -> None:
    """Import pandas and pyarrow, which no module here uses itself."""
    import pandas  # noqa: F401, PLC0415 - not before the server starts
    import pyarrow  # noqa: F401, PLC0415 - the same
