"""Aligns two sequences: the longest common order of equal items, bounded in time.

Knows sequences of words only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SHINGLES = (6, 1)
"""So many words in a row that both texts have exactly once hold the texts together; long ones first."""

_DIRECT = 400
"""Words on both sides together that are compared at once, without looking for such places."""

_EFFORT = 150_000
"""Steps of comparison for a pair of texts; well under a tenth of a second."""


class Alignment(NamedTuple):
    """Pairs of positions (old, new) of equal items, ascending in both. Not `whole` where it was given up
    for a part that would have taken too long; that part then has fewer pairs than there could be.
    """

    pairs: list[tuple[int, int]]
    whole: bool


def aligned(old: Sequence[str], new: Sequence[str]) -> Alignment:
    """The most pairs there can be, where the sequences are short; long ones are held together at runs of
    items that both have only once.
    """
    search = _AlignmentSearch(old, new)
    pairs = list(search.between(0, len(old), 0, len(new), _SHINGLES))
    return Alignment(pairs, search.whole)


class _AlignmentSearch:
    """The search for one alignment, which counts its steps."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old = old
        self._new = new
        self._left = _EFFORT

    @property
    def whole(self) -> bool:
        return self._left >= 0

    def between(
        self, i: int, i_end: int, j: int, j_end: int, shingles: tuple[int, ...]
    ) -> Iterator[tuple[int, int]]:
        old, new = self._old, self._new
        while i < i_end and j < j_end and old[i] == new[j]:
            yield i, j
            i, j = i + 1, j + 1
        tail = 0
        while i < i_end - tail and j < j_end - tail and old[i_end - tail - 1] == new[j_end - tail - 1]:
            tail += 1
        i_end, j_end = i_end - tail, j_end - tail
        if i < i_end and j < j_end:
            yield from self._unlike(i, i_end, j, j_end, shingles)
        yield from ((i_end + k, j_end + k) for k in range(tail))

    def _unlike(
        self, i: int, i_end: int, j: int, j_end: int, shingles: tuple[int, ...]
    ) -> Iterator[tuple[int, int]]:
        if i_end - i + j_end - j <= _DIRECT or not shingles:
            yield from self._shortest(i, i_end, j, j_end)
            return
        for at_old, at_new in (*self._anchors(i, i_end, j, j_end, shingles[0]), (i_end, j_end)):
            if at_old < i or at_new < j:
                continue
            yield from self.between(i, at_old, j, at_new, shingles[1:])
            i, j = at_old, at_new
            if at_old < i_end:
                yield at_old, at_new
                i, j = at_old + 1, at_new + 1

    def _anchors(self, i: int, i_end: int, j: int, j_end: int, size: int) -> list[tuple[int, int]]:
        """The places of `size` words in a row that both have exactly once; the longest ascending choice."""
        at_old = _unique_runs(self._old, i, i_end, size)
        at_new = _unique_runs(self._new, j, j_end, size)
        return longest_ascending(
            [(place, at_new[words]) for words, place in at_old.items() if words in at_new]
        )

    def _shortest(self, i: int, i_end: int, j: int, j_end: int) -> list[tuple[int, int]]:
        """The most pairs there can be, by the greedy algorithm of Myers (1986), forwards."""
        old, new = self._old[i:i_end], self._new[j:j_end]
        furthest = {1: 0}
        trace: list[dict[int, int]] = []
        for edits in range(len(old) + len(new) + 1):
            self._left -= edits + 1
            if self._left < 0:
                return []
            trace.append(furthest.copy())
            for diagonal in range(-edits, edits + 1, 2):
                entry = x = _entry(furthest, diagonal, edits)
                while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                    x += 1
                self._left -= (x - entry) // 4
                furthest[diagonal] = x
                if x >= len(old) and x - diagonal >= len(new):
                    return [(i + x, j + y) for x, y in _way_back(trace, len(old), len(new))]
        raise AssertionError("two finite texts differ in finitely many words")


def _from_above(furthest: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether a diagonal is entered by a word added; otherwise by one removed."""
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return furthest[diagonal - 1] < furthest[diagonal + 1]


def _entry(furthest: dict[int, int], diagonal: int, edits: int) -> int:
    """How many old words are behind where a diagonal is entered."""
    if _from_above(furthest, diagonal, edits):
        return furthest[diagonal + 1]
    return furthest[diagonal - 1] + 1


def _way_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """The pairs on the way that `trace` found to (x, y)."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], x - y
        entry = _entry(furthest, diagonal, edits)
        while x > entry:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = (x, y - 1) if _from_above(furthest, diagonal, edits) else (x - 1, y)
    return pairs[::-1]


def _unique_runs(words: Sequence[str], start: int, end: int, size: int) -> dict[tuple[str, ...], int]:
    """The places of runs of `size` words that occur only once in words[start:end]."""
    runs = [tuple(words[at : at + size]) for at in range(start, end - size + 1)]
    count = Counter(runs)
    return {run: start + at for at, run in enumerate(runs) if count[run] == 1}


def longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of `pairs` (ascending in the first) that also ascends in the second."""
    tops: list[int] = []
    chosen: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(tops, place)
        before.append(chosen[length - 1] if length else -1)
        if length == len(tops):
            tops.append(place)
            chosen.append(at)
        else:
            tops[length], chosen[length] = place, at
    way: list[tuple[int, int]] = []
    at = chosen[-1] if chosen else -1
    while at >= 0:
        way.append(pairs[at])
        at = before[at]
    return way[::-1]
