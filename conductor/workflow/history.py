"""A session's revisions as a tree to look at: a row each, newest first, with the lines that lead past it.

Pure. Knows each revision's parent, nothing of what the revisions hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count


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


def history(
    parents: Mapping[str, str | None], head: str | None, redo: Mapping[str, str]
) -> tuple[HistoryRow, ...]:
    """The rows of revisions that are given oldest first, each with its parent. `redo` has the child that an
    undo left.

    A parent precedes its children; a parent that is not among the revisions counts as none.
    """
    parent_of = {id: parent if parent in parents else None for id, parent in parents.items()}
    current = _way(parent_of, head) if head in parent_of else set()
    main = current | _way(redo, redo.get(head) if head else None)
    rows: list[HistoryRow] = []
    waiting: dict[int, str] = {}
    for id in reversed(parent_of):
        come = sorted(lane for lane, awaited in waiting.items() if awaited == id)
        for lane in come:
            del waiting[lane]
        if id in main:
            lane = 0
        else:
            lane = come[0] if come else next(free for free in count(1) if free not in waiting)
        parent = parent_of[id]
        rows.append(
            HistoryRow(
                id=id,
                lane=lane,
                above=lane in come,
                below=parent is not None,
                joins=tuple(other for other in come if other != lane),
                passing=tuple(sorted(waiting)),
                current=id in current,
            )
        )
        if parent is not None:
            waiting[lane] = parent
    return tuple(rows)


def _way(following: Mapping[str, str] | Mapping[str, str | None], start: str | None) -> set[str]:
    way: set[str] = set()
    while start is not None:
        way.add(start)
        start = following.get(start)
    return way
