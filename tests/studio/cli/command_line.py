"""What a command leaves behind, and how tests run one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What a command left: its exit code and its two streams."""

    code: int
    out: str
    err: str


Line = Callable[..., Result]
"""Runs one command with these arguments in this process."""
