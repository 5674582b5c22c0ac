"""Hides what this program's process writes and holds from other users and processes of its machine."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress


def hide() -> None:
    """Let only this user read what the process writes, and on Linux only root its memory and environment,
    which have keys. Processes that it starts do not inherit the second.
    """
    os.umask(0o077)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
