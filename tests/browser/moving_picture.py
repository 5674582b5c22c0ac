"""A moving picture of a page: screenshots with a drawn pointer, joined into an animated WebP.

Knows the browser and Pillow; knows no view of the app.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from time import monotonic

from PIL import Image, ImageChops
from playwright.sync_api import Page

SHORTEST, LONGEST = 200, 1200
"""For how many milliseconds a picture is shown, however long it really stood."""

POINTER = """([x, y]) => {
  const there = document.getElementById("pointer");
  const pointer = there ?? document.body.appendChild(document.createElement("div"));
  pointer.id = "pointer";
  pointer.style = `position: fixed; left: ${x - 9}px; top: ${y - 9}px; width: 18px; height: 18px;
    border: 2px solid white; border-radius: 50%; background: #d9480fcc; pointer-events: none; z-index: 1e9;`;
}"""


class MovingPicture:
    """The frames of one page, in the order in which they were taken."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[tuple[float, Image.Image]] = []

    def watch(self, pictures: int = 1) -> None:
        """Take so many pictures, some four a second; of neighbours that are equal the first."""
        for _ in range(pictures):
            at = monotonic()
            with Image.open(io.BytesIO(self._page.screenshot())) as opened:
                frame = opened.convert("RGB")
            if not self._frames or ImageChops.difference(self._frames[-1][1], frame).getbbox():
                self._frames.append((at, frame))
            self._page.wait_for_timeout(SHORTEST)

    def point(self, x: float, y: float) -> None:
        """Show the pointer there for a moment."""
        self._page.evaluate(POINTER, [x, y])
        self.watch(3)

    def save(self, path: Path) -> None:
        """Write them as an animated WebP that begins again at its end."""
        times = [at for at, _ in self._frames]
        intervals = (1000 * (after - before) for before, after in pairwise(times))
        durations = [round(min(max(each, SHORTEST), LONGEST)) for each in intervals] + [2 * LONGEST]
        first, *others = (frame for _, frame in self._frames)
        first.save(
            path, save_all=True, append_images=others, duration=durations, loop=0, quality=70, method=4
        )
