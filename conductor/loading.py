"""Begins a program of ours without what takes time and serves nothing, and hidden from other users.

Knows no module of ours.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from functools import cache


@cache
def load_lightly() -> None:
    """Call before the other imports of a program, which has the collector work again once it is loaded.

    Has an effect once in a process.
    """
    # Nothing that is loaded is garbage: looking for some takes a fifth of the time.
    gc.disable()
    # httpx's own command, which brings click, rich and pygments; without them httpx does without.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    # Looking for pydantic's plugins reads the metadata of every installed distribution.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def hide() -> None:
    """Let only this user read what the process writes, and on Linux only root its memory and environment,
    which have keys. Processes that it starts do not inherit the second.
    """
    os.umask(0o077)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
