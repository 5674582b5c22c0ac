"""What a process that this program starts may read of its environment. Knows names of variables only."""

from __future__ import annotations

import os

PASSED = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE LANG LC_ALL LC_CTYPE SYSTEMROOT "
    "APPDATA TEMP TMP"
).split()
"""What Python needs to start and to find its packages; no key and no setting of this program."""


def passed_environment(*more: str) -> dict[str, str]:
    """The variables of `PASSED` that are set, and of `more`."""
    return {name: os.environ[name] for name in (*PASSED, *more) if name in os.environ}
