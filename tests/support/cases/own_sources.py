"""The tests' own files as text, for what is asserted of all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


@cache
def sources() -> dict[str, str]:
    """Each file's text by its path below this folder; of Node's packages some are in Python, too."""
    files = sorted(file for file in TESTS.rglob("*.py") if "node_modules" not in file.parts)
    return {file.relative_to(TESTS).as_posix(): file.read_text(encoding="utf-8") for file in files}
