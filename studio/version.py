"""The version of this program, which pyproject.toml states."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
"""Beside a checkout's folders; what is installed has its metadata instead."""


def own_version() -> str:
    """The version of the program that runs: of the checkout that it runs from, or as it was installed."""
    if _PROJECT.exists():
        return str(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    return version("conductor-studio")
