"""JSON text of which nothing is lost: each object says each thing once, and every number is one.

Of a name that stands twice, `json` loses one; what it takes for numbers and is none comes out of no store.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NoReturn

from conductor.errors import FormatError


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these members, for `json`'s `object_pairs_hook`. Raises `FormatError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise named_twice(name)
            names.add(name)
    return found


def named_twice(name: str) -> FormatError:
    """What is wrong with an object that has two members of this name."""
    return FormatError(
        f"The file names {name[:60]!r} twice in one object, so it says two things at once; take one out."
    )


def no_number(name: str) -> NoReturn:
    """For `json`'s `parse_constant`: what stands for no number. Raises `FormatError`."""
    raise FormatError(f"The file has {name} in the place of a number.")


def finite(digits: str) -> float:
    """For `json`'s `parse_float`. Raises `FormatError` for a number that is too large to be one."""
    number = float(digits)
    if not isfinite(number):
        raise FormatError(f"The file has the number {digits[:40]}, which is too large.")
    return number
