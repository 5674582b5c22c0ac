"""Whether a whole plan stands in quotes, as a careless model or an editor's autocorrection puts it.

Knows the text around a plan; does not read the plan.
"""

from __future__ import annotations

import re

from conductor.plan import Span
from conductor.planner.quotes import DOUBLE, QUOTES

_DISTANCE = 200
"""How far a quote may stand from the plan that it wraps."""

# A quote that touches a word belongs to that word.
_BEFORE = re.compile(rf"(?:(?<=[\s:(`])|\A)[{QUOTES}]{{1,3}}\s*\Z")
_AFTER = re.compile(rf"\s*+(?P<quote>[{QUOTES}]{{1,3}})(?=[\s`.)]|\Z)")
# Of a label that stands in quotes itself, the quote closes before the sign.
_LABEL = re.compile(rf"\s*+[{QUOTES}]{{1,3}}[^{QUOTES}=:]*+[=:]")


def with_quotes(text: str, span: Span) -> Span | None:
    """The plan's `span` with the quotes around it, None where it stands in none."""
    start, end = span
    after = _AFTER.match(text, end, end + _DISTANCE)
    before = _BEFORE.search(text, max(0, start - _DISTANCE), start) or _LABEL.match(text, start)
    if after is None or before is None:
        return None
    opening = before[0].strip()[0]
    if (opening in DOUBLE) != (after["quote"][0] in DOUBLE):
        return None
    return min(start, before.start()), after.end()
