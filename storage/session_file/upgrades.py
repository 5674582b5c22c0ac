"""How entries of older files become entries of the present version: numbered steps, each written once.

The version that this program writes is one more than there are steps, so that every version ever written can
be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from storage.session_entries import Section

Upgrade = Callable[[Section, Mapping[str, Any]], Mapping[str, Any]]
"""An entry of a section as it stood in one version's file, as it stands in the next one's."""

UPGRADES: Sequence[Upgrade] = ()
"""The first makes version 2 of version 1. A step is never edited once a file was written by it."""


def upgraded(
    section: Section, entry: Mapping[str, Any], *, version: int, upgrades: Sequence[Upgrade]
) -> Mapping[str, Any]:
    """The entry of a file of that version as one of the newest."""
    for upgrade in upgrades[version - 1 :]:
        entry = upgrade(section, entry)
    return entry
