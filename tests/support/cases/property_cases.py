"""How many made-up cases a property is tried with: a tenth of them in the unit suite, all in `make test`.

Knows no property; the command chooses the profile (`--hypothesis-profile`).
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

PROFILES = {"whole": 100, "unit": 10}
"""Cases for a property that does not name a number itself."""

FEWEST = 4
"""Fewer are hardly more than the plain ones that Hypothesis begins with."""


def cases(number: int, *, unit: int | None = None, **more: Any) -> settings:
    """That many, or the share of them that the loaded profile leaves, in the unit suite `unit` instead; with
    `more` settings of Hypothesis'.
    """
    share = number * settings().max_examples // PROFILES["whole"]
    if unit is not None and settings().max_examples == PROFILES["unit"]:
        share = unit
    return settings(max_examples=max(FEWEST, share), **more)
