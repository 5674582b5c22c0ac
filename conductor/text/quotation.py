"""Finds quoted words in a text. Pure.

They may have been selected in its rendered form, without Markdown's marks and with other spaces; only letters
and digits must be the same.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_BETWEEN = r"[\W_]+"


def located(text: str, quote: str, *, near: int = 0) -> tuple[int, int] | None:
    """The start and end of the words in `text`, or None if they are not there.

    Of several places it is the one that begins nearest to the character `near`.
    """
    words = _WORD.findall(quote)
    # Without letters, as "+=", nothing but the same characters will do.
    pattern = _BETWEEN.join(map(re.escape, words)) if words else re.escape(quote.strip())
    if not pattern:
        return None
    places = (match.span() for match in re.finditer(pattern, text))
    return min(places, key=lambda place: abs(place[0] - near), default=None)
