"""How long deleted sessions are kept: a setting, and its use once a day.

Knows the setting and the calendar; the store removes the sessions.
"""

from __future__ import annotations

import logging

from conductor.errors import StorageError
from conductor.own_settings import setting
from storage.store import SessionStore

VARIABLE = "CONDUCTOR_RETENTION_DAYS"
DEFAULT_DAYS = 30
"""Where the variable is not set."""

DAY = 86_400.0

_log = logging.getLogger(__name__)


def retention_days() -> int | None:
    """How many days a deleted session is kept; None (the variable is 0): until a person cleans up.

    Raises `StorageError` where the variable is not a number of days.
    """
    text = setting(VARIABLE)
    if not text:
        return DEFAULT_DAYS
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        raise StorageError(
            f"{VARIABLE} is {text[:40]!r}, which is no number of days; nothing was removed. Write a whole "
            "number from 0 on; with 0, deleted sessions are kept until a person cleans up."
        )
    return int(text) or None


def apply_daily(store: SessionStore) -> None:
    """Remove what was deleted longer ago than the retention, unless that was done within a day.

    Runs in a separate thread. Writes an error to the log: no caller waits for it, and the sessions can be
    removed another day.
    """
    try:
        days = retention_days()
        if days is not None and store.housekeeping.is_due("retention_applied", every=DAY):
            gone = store.housekeeping.remove_deleted(older_than=days * DAY).sessions
            if gone:
                _log.info("removed %d sessions deleted more than %d days ago", len(gone), days)
    except StorageError as error:
        _log.warning("deleted sessions were not removed: %s", error)
