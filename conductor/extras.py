"""Names the command that installs an extra of this program.

The command names the packages themselves: this program's own name may be another one's on the package index.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

_NAME = "conductor-studio"
_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
"""Beside a checkout's folders; what is installed has its metadata instead."""


def install_command(extra: str) -> str:
    """The command for a shell."""
    return f"pip install {' '.join(map(shlex.quote, _requirements(extra)))}"


def _requirements(extra: str) -> Iterator[str]:
    for each in _listed(extra):
        if each.startswith(f"{_NAME}["):
            yield from _requirements(each.removeprefix(f"{_NAME}[").rstrip("]"))
        else:
            yield each


def _listed(extra: str) -> list[str]:
    if _PROJECT.exists():
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
        return list(project["optional-dependencies"][extra])
    try:
        lines = requires(_NAME) or []
    except PackageNotFoundError:
        return [f".[{extra}]"]
    markers = (f"extra == '{extra}'", f'extra == "{extra}"')
    return [line.partition(";")[0].strip() for line in lines if any(marker in line for marker in markers)]
