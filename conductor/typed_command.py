"""Names this program as it was called, for sentences with one of its commands."""

from __future__ import annotations

import sys
from pathlib import Path


def command_name() -> str:
    """The installed command, or the module, as the program was typed."""
    program = Path(sys.argv[0]).stem if sys.argv else ""
    return "conductor" if program == "conductor" else "python -m conductor"
