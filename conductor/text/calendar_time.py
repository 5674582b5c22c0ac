"""Unix seconds and this machine's calendar, for every moment that the calendar has, in every zone.

Python computes a local time by others up to two days away, which the ends of the calendar have not.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_FIRST, _LAST = datetime(1970, 1, 3), datetime(9999, 12, 29)
"""Every system knows the times between these in every zone; beyond, the offset is that of the nearer one."""

_BEGIN, _EPOCH, _END = datetime.min, datetime(1970, 1, 1), datetime.max.replace(microsecond=0)


def unix_seconds(at: datetime) -> float:
    """The moment; by this machine's clock where `at` names no zone."""
    if at.tzinfo is not None:
        return at.timestamp()
    inside = min(max(at, _FIRST), _LAST)
    return inside.timestamp() + (at - inside).total_seconds()


def local_time(moment: float) -> datetime:
    """The date and time by this machine's clock. A moment beyond the calendar is its first or last one."""
    inside = min(max(moment, _FIRST.timestamp()), _LAST.timestamp())
    beyond = min(max(moment - inside, (_BEGIN - _FIRST).total_seconds()), (_END - _LAST).total_seconds())
    return datetime.fromtimestamp(inside) + timedelta(seconds=beyond)


def utc_time(moment: float) -> datetime:
    """The date and time in UTC, as `local_time`."""
    since = min(max(moment, (_BEGIN - _EPOCH).total_seconds()), (_END - _EPOCH).total_seconds())
    return (_EPOCH + timedelta(seconds=since)).replace(tzinfo=UTC)
