"""Masks keys in texts: in a whole text, or in one that comes in pieces.

Pure; `secret` knows which keys there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"

SHORTEST_KEY = 8
"""Characters. A shorter value is no provider's key but a placeholder, such as "none" or "EMPTY" for a server
that requires none; masking it would spoil ordinary words of every answer."""


class Mask:
    """Replaces each of the keys by `MASK`. Of keys that begin at one place, the longest is replaced."""

    def __init__(self, keys: Iterable[str | None]) -> None:
        self._keys = sorted({key for key in keys if key and len(key) >= SHORTEST_KEY}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._keys))) if self._keys else None

    def __repr__(self) -> str:
        return "Mask()"

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def first(self, text: str, at: int) -> re.Match[str] | None:
        return None if self._pattern is None else self._pattern.search(text, at)

    def undecided(self, text: str, at: int) -> int:
        """The first place from `at` on where a key could begin that is not whole yet, else the text's end."""
        longest = len(self._keys[0]) if self._keys else 1
        places = range(max(at, len(text) - longest + 1), len(text))
        return next((place for place in places if self._begins_key(text[place:])), len(text))

    def _begins_key(self, text: str) -> bool:
        return any(key.startswith(text) and len(text) < len(key) for key in self._keys)


NO_KEYS = Mask(())


class MaskedStream:
    """One text in pieces, in which a key may be split over any number of them.

    The pieces that `feed` and `end` return, joined, are the masked whole. At most the characters that could
    be the beginning of a key are held back.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._held = ""

    @property
    def held(self) -> str:
        return self._held

    def feed(self, text: str) -> str:
        """What is certain after the next piece, perhaps nothing."""
        text = self._held + text
        certain: list[str] = []
        at = 0
        while True:
            undecided = self._mask.undecided(text, at)
            match = self._mask.first(text, at)
            if match is None or match.start() >= undecided:
                self._held = text[undecided:]
                return "".join((*certain, text[at:undecided]))
            certain += (text[at : match.start()], MASK)
            at = match.end()

    def end(self) -> str:
        held, self._held = self._held, ""
        return self._mask(held)
