"""Streamlit's work between its start and the first page, and what is left for later.

The server imports `app.py` once before the first browser connects. Streamlit has no hook for what happens
then, and logs a warning for each call that expects a session. It then copies each entry of
`.streamlit/secrets.toml` into the environment, whose variables decide who has access, which key goes where
and what a child of Python imports. When the first page is drawn it imports pandas and pyarrow, which take a
second together that the first visitor would wait: here they are imported while the server answers already.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn.config
from streamlit import config, runtime
from uvicorn.protocols.http.h11_impl import H11Protocol

from studio.api.serving.server import PunctualConnection

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


def leave_secrets() -> None:
    """Have Streamlit read no secrets file, also after its own settings were read again."""
    config.on_config_parsed(lambda: config.set_option("secrets.files", []), force_connect=True)
    config.set_option("secrets.files", [])


def believe_no_proxy() -> None:
    """Take each client for who it is: uvicorn would believe what any program on this machine writes into
    `X-Forwarded-For`, also a proxy that passes on a client's own header. An operator who names proxies in
    `FORWARDED_ALLOW_IPS` has them believed.
    """
    if "FORWARDED_ALLOW_IPS" not in os.environ:
        # Looked up once the app has been imported.
        vars(uvicorn.config)["ProxyHeadersMiddleware"] = lambda app, **_: app


def close_malformed() -> None:
    """Close a connection whose body is malformed after its answer began, as the API alone does."""
    # Before this, Streamlit may have chosen the class.
    H11Protocol.send_400_response = PunctualConnection.send_400_response  # type: ignore[method-assign, assignment]


def import_early() -> None:
    """Import pandas and pyarrow, which no module here uses itself."""
    import pandas  # noqa: F401, PLC0415 - not before the server starts
    import pyarrow  # noqa: F401, PLC0415 - the same
