"""Puts the app's packages `storage`, `studio` and `pages` onto the path of this process.

In a checkout they stand beside this package. The wheel has them in the folder `conductor_studio`, so that it
takes no common name in a user's environment: only the processes of the command see them by their names.
"""

from __future__ import annotations

import sys
from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[1]


def installed_studio(beside: Path = _BESIDE) -> Path | None:
    """The folder of the app's packages where a wheel was installed; None in a checkout."""
    return None if (beside / "studio").is_dir() else beside / "conductor_studio"


def find_studio() -> None:
    """Have this process import the app's packages; before any other packages of these names."""
    folder = installed_studio()
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
