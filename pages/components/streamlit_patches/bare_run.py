"""The script outside a session: the server imports `app.py` once before the first browser connects.

Streamlit has no hook for what happens then, and logs a warning for each call that expects a session.
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
