"""Pieces of streamed texts of a run that is over: many rows of events become one.

A model's answer comes in pieces of a few characters, and a row for each takes some 250 bytes. All pieces
between two other events go into one row, at the `seq` of the last: a reader that has the events up to any
`seq` finds the later ones behind it, before the change and after. Nothing is lost: read back, the row is the
same events, with their numbers and times. Knows stored JSON; which runs are over is the caller's to know.

No Alembic revision belongs to it: no table changes, rows of either kind are read in every store, and no
version 11 that reads single pieces only was ever released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import Connection, bindparam, delete, select, update

from storage.database.schema import EVENTS

MOST = 500
"""Pieces in one row."""

PACKED = '{"pieces":'
"""How the JSON of such a row begins, as no event's does."""

_TYPES = ("step_delta", "step_thought")
_MORE = ("logprobs", "recalls", "members")
_FEWEST = 2

_TICKS = 10_000_000
"""Ticks of time in a second: about what a number of Unix seconds can hold."""


def pack(connection: Connection, run: str) -> None:
    """Put the pieces of the run's texts, which gets no more events, into as few rows as possible."""
    rows = connection.execute(
        select(EVENTS.c.seq, EVENTS.c.event).where(EVENTS.c.run == run).order_by(EVENTS.c.seq)
    )
    packed = [_joined(pieces) for pieces in _groups(row.event for row in rows) if len(pieces) >= _FEWEST]
    if not packed:
        return
    own = EVENTS.c.run == run
    between = (EVENTS.c.seq >= bindparam("first")) & (EVENTS.c.seq < bindparam("last"))
    connection.execute(delete(EVENTS).where(own, between), packed)
    replaced = update(EVENTS).where(own, EVENTS.c.seq == bindparam("last"))
    connection.execute(replaced.values(event=bindparam("joined")), packed)


def unpacked(stored: Iterable[str], *, after: int = -1) -> list[str]:
    """The events' JSON, in order; of those that are together in one row only the later than `after`."""
    texts: list[str] = []
    for text in stored:
        if text.startswith(PACKED):
            texts += _apart(text, after=after)
        else:
            texts.append(text)
    return texts


def _groups(stored: Iterable[str]) -> Iterator[Sequence[dict[str, Any]]]:
    """The pieces that stand one behind another, at most `MOST` together."""
    group: list[dict[str, Any]] = []
    for text in stored:
        # A row that is packed already stays as it is, and stands between the pieces before and after it.
        event: dict[str, Any] = {} if text.startswith(PACKED) else from_json(text)
        follows = bool(group) and len(group) < MOST and event.get("seq") == group[-1]["seq"] + 1
        # What few pieces have a row does not hold: log probabilities, recalled text and names of members.
        is_piece = event.get("type") in _TYPES and not any(event.get(more) for more in _MORE)
        if group and not (is_piece and follows):
            yield group
            group = []
        if is_piece:
            group.append(event)
    if group:
        yield group


def _joined(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row of these pieces: of each its step (-1 less it for a thought), its time and its text.

    A time is the ticks since the piece before; where that would not give it back to the last bit, and of the
    first piece, it is the Unix seconds, a number with a point.
    """
    first, last = pieces[0], pieces[-1]
    each: list[int | float | str] = []
    before: int | None = None
    for piece in pieces:
        step, at = piece["step"], float(piece["at"])
        ticks = round(at * _TICKS)
        exact = before is not None and ticks / _TICKS == at
        each += [
            step if piece["type"] == _TYPES[0] else -1 - step,
            ticks - before if exact and before is not None else at,
            piece["text"],
        ]
        before = ticks
    joined = to_json({"pieces": each, "run": first["run"], "seq": first["seq"]}).decode()
    return {"first": first["seq"], "last": last["seq"], "joined": joined}


def _apart(text: str, *, after: int) -> Iterator[str]:
    row = from_json(text)
    values = iter(row["pieces"])
    ticks = 0
    for seq, (step, time, piece) in enumerate(zip(values, values, values, strict=True), start=row["seq"]):
        ticks = round(time * _TICKS) if isinstance(time, float) else ticks + time
        if seq > after:
            event = {
                "run": row["run"],
                "seq": seq,
                "at": time if isinstance(time, float) else ticks / _TICKS,
                "type": _TYPES[step < 0],
                "step": step if step >= 0 else -1 - step,
                "text": piece,
            }
            yield to_json(event).decode()
