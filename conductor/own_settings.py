"""The settings of this program, and what its children get: variables of the environment in which it began.

The one reader of variables `CONDUCTOR_...`. Knows names, and no meaning of a value; and how the program was
called, for sentences that name one of its commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

PASSED = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE LANG LC_ALL LC_CTYPE SYSTEMROOT "
    "APPDATA TEMP TMP"
).split()
"""What Python needs to start and to find its packages; no key and no setting of this program."""

_environment: MutableMapping[str, str] = os.environ


def take() -> None:
    """Let no later change of the environment count, as by Streamlit, which copies files of the current folder
    into it. A program calls this when it begins; before, and in a library, the environment counts as it is.
    """
    global _environment  # noqa: PLW0603 - there is one environment in a process
    if _environment is os.environ:
        _environment = dict(os.environ)


def setting(name: str) -> str | None:
    """The variable's text without spaces around it; None if it is not set."""
    value = _environment.get(name)
    return None if value is None else value.strip()


def set_here(name: str, value: str) -> None:
    """Set it for this process and those that it starts."""
    _environment[name] = os.environ[name] = value


def passed_environment(*more: str) -> dict[str, str]:
    """The variables of `PASSED` that are set, and of `more`."""
    return {name: _environment[name] for name in (*PASSED, *more) if name in _environment}


def whole_environment() -> dict[str, str]:
    """All variables, keys and settings included, for a child that is this program again."""
    return dict(_environment)


def command_name() -> str:
    """The installed command, or the module, as the program was typed."""
    program = Path(sys.argv[0]).stem if sys.argv else ""
    return "conductor" if program == "conductor" else "python -m conductor"
