"""An object of JSON text that says each thing once: of a name that stands twice, `json` loses one."""

from __future__ import annotations

from typing import Any

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
