"""A session's revisions as a tree to look at: a row each, newest first, with the lines that lead past it.

Pure. Knows which revision was made of which, nothing of what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A revision in its `lane` (from 0); lane 0 is the way from the first revision over the head to what redo
    would lead to.

    `above` and `below`: a line leads on to a later revision in this lane, and to what it was made of.
    `joins` are the lanes whose lines come down to this revision, `passing` those that lead past it, both
    ascending.
    `current`: it is the head, or the head was made of it.
    """

    id: str
    lane: int
    above: bool
    below: bool
    joins: tuple[int, ...]
    passing: tuple[int, ...]
    current: bool


def history(parents: Mapping[str, str | None], head: str | None) -> tuple[HistoryRow, ...]:
    """The rows of revisions that are given oldest first, each with its parent.

    A parent precedes its children; a parent that is not among the revisions counts as none.
    """
    known = {id: parent if parent in parents else None for id, parent in parents.items()}
    current = _ancestry(known, head)
    main = current | _redo(known, head)
    rows: list[HistoryRow] = []
    waiting: dict[int, str] = {}
    awaited: dict[str, list[int]] = {}
    free: list[int] = []
    widest = 0
    for id in reversed(known):
        come = sorted(awaited.pop(id, []))
        for lane in come:
            del waiting[lane]
        if id in main:
            lane = 0
        elif come:
            lane = come[0]
        elif free:
            lane = heappop(free)
        else:
            lane = widest = widest + 1
        joins = tuple(other for other in come if other != lane)
        passing = tuple(sorted(waiting))
        parent = known[id]
        if parent is not None:
            waiting[lane] = parent
            awaited.setdefault(parent, []).append(lane)
        for ended in (*joins, *([lane] if parent is None else [])):
            if ended:
                heappush(free, ended)
        rows.append(
            HistoryRow(
                id=id,
                lane=lane,
                above=lane in come,
                below=parent is not None,
                joins=joins,
                passing=passing,
                current=id in current,
            )
        )
    return tuple(rows)


def _ancestry(parents: Mapping[str, str | None], head: str | None) -> set[str]:
    found: set[str] = set()
    at = head if head in parents else None
    while at is not None:
        found.add(at)
        at = parents[at]
    return found


def _redo(parents: Mapping[str, str | None], head: str | None) -> set[str]:
    """What redo would lead to, again and again: always the newest child."""
    newest = {parent: id for id, parent in parents.items() if parent is not None}
    found: set[str] = set()
    at = newest.get(head) if head is not None else None
    while at is not None:
        found.add(at)
        at = newest.get(at)
    return found
