"""What a command leaves behind, and how tests run one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes.child_process import child

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Result:
    """What a command left: its exit code and its two streams."""

    code: int
    out: str
    err: str


Line = Callable[..., Result]
"""Runs one command with these arguments in this process."""


def process(
    *arguments: str,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    module: str = "conductor",
    **options: Any,
) -> AbstractContextManager[subprocess.Popen[str]]:
    """One command in a process of its own, in `folder`, with these variables of the environment."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("CONDUCTOR_")},
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        **(variables or {}),
    }
    return child(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=environment,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def editor(folder: Path, script: str) -> str:
    """The command of an editor that runs these lines of Python on the `text` of the file, which they change.
    What it was given each time is appended to the file `texts`.
    """
    file = folder / "editor.py"
    file.write_text(
        "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        f"open('texts', 'a').write(text + '====')\n{script}\nfile.write_text(text)\n"
    )
    return f"{sys.executable} {file}"
