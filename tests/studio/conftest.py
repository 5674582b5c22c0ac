"""Tests here may ask for a real store, see `store_fixtures`, and for the log of this process."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from studio.telemetry.logs import log_as_json
from tests.support.stores.store_fixtures import *  # noqa: F403 - pytest finds fixtures by their names here


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log has as JSON lines; afterwards it is as it was."""
    root, ours, stream = logging.getLogger(), logging.getLogger("conductor"), io.StringIO()
    before, level, own = root.handlers[:], root.level, ours.level
    hooks = sys.excepthook, threading.excepthook
    log_as_json(stream)
    yield stream
    logging.captureWarnings(capture=False)
    root.handlers[:] = before
    root.setLevel(level)
    ours.setLevel(own)
    sys.excepthook, threading.excepthook = hooks
