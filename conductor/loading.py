"""Loads a program of ours without what takes time and serves nothing. Knows no module of ours."""

from __future__ import annotations

import gc
import os
import sys
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
