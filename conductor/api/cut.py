"""An answer that ends where one of some texts begins. Pure."""

from __future__ import annotations

from collections.abc import Sequence


class Cut:
    """Gives out a text piece by piece up to the first of the `stops`, none of which is empty.

    What could be the beginning of one is held back until it is known. `found` says that one came.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.found = False
        self._stops = tuple(stops)
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be given out after another piece."""
        if self.found:
            return ""
        text = self._held + text
        sure = len(text) - max((_overlap(text, stop) for stop in self._stops), default=0)
        place = self._place(text)
        # A stop that is whole does not count yet where another one may have begun before it.
        if place is not None and place <= sure:
            self.found, self._held = True, ""
            return text[:place]
        self._held = text[sure:]
        return text[:sure]

    def end(self) -> str:
        """What was held back, now that nothing more comes."""
        held, self._held = self._held, ""
        place = self._place(held)
        self.found = self.found or place is not None
        return held[:place]

    def _place(self, text: str) -> int | None:
        """Where the first stop in `text` begins."""
        return min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=None)


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` begin `stop`."""
    lengths = range(min(len(stop) - 1, len(text)), 0, -1)
    return next((length for length in lengths if text.endswith(stop[:length])), 0)
