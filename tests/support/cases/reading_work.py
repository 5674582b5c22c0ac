"""What reading a text takes, counted instead of timed: calls, and the characters that are passed over.

Knows functions and regular expressions, nothing of plans or experts. What a pattern does between two
places of a text no counter sees; for that there is `patience`.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import pytest

_WHOLE = frozenset("casefold lower replace split splitlines strip translate upper".split())
"""Methods of a string that read or copy all of it."""


@dataclass
class _Work:
    """Adds up."""

    amount: int = 0

    def passed(self, start: int, end: int) -> None:
        """A pattern went over these characters."""
        self.amount += max(0, end - start)

    def called(self, frame: FrameType, event: str, called: Any) -> None:
        """Something was called; as `sys.setprofile` reports it."""
        if event == "call":
            self.amount += 1
        elif event == "c_call":
            self.amount += 1 + self._read_whole(frame, called)

    @staticmethod
    def _read_whole(frame: FrameType, called: Any) -> int:
        """The length of the string that a function of C reads from end to end."""
        owner = getattr(called, "__self__", None)
        if isinstance(owner, str):
            return len(owner) if called.__name__ in _WHOLE else 0
        # `re.findall(pattern, string)` and its like compile first, so `_CountingPattern` does not see them.
        in_re = isinstance(owner, re.Pattern) and frame.f_globals.get("__name__") == "re"
        return len(frame.f_locals.get("string", "")) if in_re else 0


@dataclass(eq=False)
class _CountingPattern:
    """A compiled pattern that reports how far it went."""

    pattern: re.Pattern[str]
    work: _Work

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        hit = self.pattern.match(text, pos, endpos)
        self.work.passed(pos, hit.end() if hit else pos)
        return hit

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        self.work.passed(pos, min(endpos, len(text)))
        return self.pattern.fullmatch(text, pos, endpos)

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        hit = self.pattern.search(text, pos, endpos)
        self.work.passed(pos, hit.end() if hit else min(endpos, len(text)))
        return hit

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        at = pos
        for hit in self.pattern.finditer(text, pos, endpos):
            self.work.passed(at, hit.end())
            at = hit.end()
            yield hit
        self.work.passed(at, min(endpos, len(text)))

    def findall(self, text: str) -> list[Any]:
        self.work.passed(0, len(text))
        return self.pattern.findall(text)

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        self.work.passed(0, len(text))
        return self.pattern.split(text, maxsplit)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        self.work.passed(0, len(text))
        return self.pattern.sub(new, text, count)


@contextmanager
def _counting(package: str) -> Iterator[_Work]:
    """Counts while it is open; of the package's patterns, those that are its modules' constants."""
    total = _Work()
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]
    before = sys.getprofile()
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, re.Pattern):
                    patch.setattr(module, name, _CountingPattern(value, total))
                elif isinstance(value, dict):
                    for key, inner in list(value.items()):
                        if isinstance(inner, re.Pattern):
                            patch.setitem(value, key, _CountingPattern(inner, total))
        sys.setprofile(total.called)
        try:
            yield total
        finally:
            sys.setprofile(before)


def work(read: Callable[[], object], *, package: str) -> int:
    """What `read` takes: calls, and characters that strings' methods and the package's patterns pass over."""
    with _counting(package) as total:
        read()
    return total.amount


def growth(read: Callable[[str], object], text: Callable[[int], str], *, package: str, length: int) -> float:
    """How much more the second doubling of a text costs than the first, from `length` characters on.

    2 where work grows with the length, 4 where it grows with its square. What is paid once cancels out.
    """
    texts = [text(size) for size in (length, 2 * length, 4 * length)]
    read(texts[0])
    first, second, third = (work(partial(read, each), package=package) for each in texts)
    return (third - second) / (second - first)


@contextmanager
def patience(seconds: float = 20.0, what: str = "") -> Iterator[None]:
    """Ends what hangs, after so many seconds of the processor; what is inside takes a hundredth of them."""

    def lost(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"still reading after {seconds:g} s of the processor's time {what}")

    before = signal.signal(signal.SIGPROF, lost)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
