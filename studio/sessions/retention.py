"""Removes sessions that are old, were deleted or are not to be stored: the settings, and their use.

Knows the settings and the calendar; the store removes the sessions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from conductor.errors import StorageError
from conductor.own_settings import setting
from storage.store import SessionStore

VARIABLE = "CONDUCTOR_RETENTION_DAYS"
DEFAULT_DAYS = 30
"""Where the variable is not set."""

AGE = "CONDUCTOR_DELETE_AFTER_DAYS"
"""After how many days without a change a session is deleted; where it is not set, no session is."""

EXEMPT = "keep"
"""The tag of a session that no age deletes."""

AHEAD = (0, 7, 30)
"""For how many days ahead a forecast counts."""

UNSTORED = "CONDUCTOR_UNSTORED_MINUTES"
DEFAULT_MINUTES = 15
"""Where that variable is not set."""

DAY = 86_400.0

_log = logging.getLogger(__name__)


def retention_days() -> int | None:
    """How many days a deleted session is kept; None (the variable is 0): until a person cleans up.

    Raises `StorageError` where the variable is not a number of days.
    """
    beside = "Nothing was removed; with 0, deleted sessions are kept until a person cleans up."
    return _number(VARIABLE, "days", default=DEFAULT_DAYS, beside=beside) or None


def age_days() -> int | None:
    """After how many days without a change a session is deleted; None (the variable is 0 or not set): never.

    Raises `StorageError` where the variable is not a number of days.
    """
    return _number(AGE, "days", default=0, beside="Nothing was deleted.") or None


def unstored_seconds() -> float:
    """How long a session that is not to be stored waits for the results of the tools that it calls.

    Raises `StorageError` where the variable is not a number of minutes.
    """
    return _number(UNSTORED, "minutes", default=DEFAULT_MINUTES) * 60.0


def _number(variable: str, of: str, *, default: int, beside: str = "") -> int:
    text = setting(variable)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        message = f"{variable} is {text[:40]!r}, which is not a number of {of}; write 0 or more."
        raise StorageError(f"{message} {beside}".strip())
    return int(text)


def forecast(store: SessionStore, days: int) -> Mapping[int, int]:
    """How many sessions an age of so many days deletes now and within the days of `AHEAD`, by these, as far
    as nothing changes them until then.
    """
    return {ahead: due(store, days, ahead=ahead) for ahead in AHEAD}


def due(store: SessionStore, days: int, *, ahead: int, most: int | None = None) -> int:
    """How many of them an age deletes within so many days; beyond `most` it counts no further."""
    return store.housekeeping.aged(older_than=(days - ahead) * DAY, exempt=EXEMPT, most=most)


@dataclass(frozen=True)
class Applied:
    """How many sessions were deleted for their age, and how many removed for good."""

    deleted: int
    removed: int


def apply(store: SessionStore) -> Applied:
    """Delete what nothing has changed for long, and remove what was deleted long ago.

    Raises `StorageError`.
    """
    age, days = age_days(), retention_days()
    keeping = store.housekeeping
    deleted = 0 if age is None else keeping.delete_aged(older_than=age * DAY, exempt=EXEMPT)
    removed = 0 if days is None else len(keeping.remove_deleted(older_than=days * DAY).sessions)
    if deleted:
        _log.info("deleted %d sessions that nothing has changed for %s days", deleted, age)
    if removed:
        _log.info("removed %d sessions deleted more than %s days ago", removed, days)
    return Applied(deleted, removed)


def apply_daily(store: SessionStore) -> None:
    """As `apply`, unless that was done within a day.

    Runs in a separate thread. Writes an error to the log: no caller waits for it, and the sessions can be
    removed another day.
    """
    try:
        if (age_days() or retention_days()) and store.housekeeping.is_due("retention_applied", every=DAY):
            apply(store)
    except StorageError as error:
        _log.warning("deleted sessions were not removed: %s", error)


def restore(store: SessionStore, *sessions: str) -> None:
    """Put deleted sessions back; one that its age would soon delete again gets the tag `EXEMPT`."""
    store.sessions.restore(*sessions)
    days = age_days()
    if days is not None:
        before = time.time() - days * DAY
        aged = [id for id in sessions if store.sessions.find(id).updated_at < before]
        store.sessions.add_tags(aged, [EXEMPT])
