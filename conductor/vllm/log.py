"""What a server says: its lines made readable, and the last of them kept for the day it dies.

Knows how vLLM's lines look. The text is untrusted: control characters never reach the terminal.
"""

from __future__ import annotations

import re
from collections import deque

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PREFIX = re.compile(
    r"(\([^()]* pid=\d+\) )?((DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^]]*\] ?)?"
)
_BAR = re.compile(r"\d%")
"""A progress bar, as of a download; it has no prefix."""
_KEPT = 15


class Log:
    """The lines of one server. `secret` is written as stars wherever it stands."""

    def __init__(self, *, secret: str | None = None) -> None:
        self._secret = secret
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._in_frames = False
        self.latest = ""
        """What vLLM logged last, or the progress bar it drew last, without its prefix."""

    @property
    def last_lines(self) -> str:
        """The last lines that say something: without prefixes, repetitions and frames of tracebacks."""
        return "\n".join(self._kept)

    def hear(self, raw: str) -> str:
        """Take in a line; the line as it may be shown in full."""
        line = _CONTROL.sub("", raw.rstrip())
        if self._secret:
            line = line.replace(self._secret, "***")
        start = _prefix_length(line)
        words = line[start:]
        if words.strip() and (start > 0 or _BAR.search(words)):
            self.latest = words.strip()
        if words.strip() and not self._is_frame(words) and words not in self._kept:
            self._kept.append(words)
        return line

    def _is_frame(self, words: str) -> bool:
        """Whether a line is part of a traceback before its last line, which gives the reason."""
        if words.startswith("Traceback (most recent call last)"):
            self._in_frames = True
            return True
        self._in_frames = self._in_frames and words.startswith("  ")
        return self._in_frames


def _prefix_length(line: str) -> int:
    found = _PREFIX.match(line)
    return found.end() if found else 0
