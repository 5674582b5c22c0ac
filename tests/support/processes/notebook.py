"""A notebook whose cells are run in a process of its own, by IPython as in a kernel.

Knows no protocol of kernels: what a cell shows is collected where it is handed to a front end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(__file__).with_name("notebook_program.py")


class Cell(NamedTuple):
    """What a cell shows: its print, its displays in HTML, each in the place of the one before, and the
    value that it ends in, in HTML and as text.
    """

    printed: str
    displays: list[str]
    html: str
    text: str


def cells_of(notebook: Path, folder: Path) -> list[Cell]:
    """The cells of code, run in their order in a folder. Raises `CalledProcessError` where one fails."""
    done = subprocess.run(
        [sys.executable, PROGRAM, notebook],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(PROGRAM.parents[3]), "IPYTHONDIR": str(folder)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return [Cell(*cell) for cell in json.loads(done.stdout)]
