"""How long deleted sessions are kept: a setting, and its use once a day.

Knows the setting and the calendar; what is removed, and how, is the store's matter.
"""

from __future__ import annotations

import logging
import os

from conductor.errors import StorageError
from storage.store import SessionStore

VARIABLE = "CONDUCTOR_RETENTION_DAYS"
DEFAULT_DAYS = 30
"""Where the variable is not set."""

DAY = 86_400.0

_log = logging.getLogger(__name__)


def retention_days() -> int | None:
    """How many days a deleted session is kept; None: until somebody cleans up (the variable is 0).

    Raises `StorageError` where the variable says no number of days.
    """
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return DEFAULT_DAYS
    if not (said.isascii() and said.isdecimal() and len(said) <= 6):
        raise StorageError(
            f"{VARIABLE} is {said[:40]!r}, which is no number of days; nothing was removed. Write a whole "
            "number from 0 on; with 0, deleted sessions are kept until somebody cleans up."
        )
    return int(said) or None


def apply_daily(store: SessionStore) -> None:
    """Remove what was deleted longer ago than the retention, unless that was done within a day.

    For a thread of its own. What keeps it from doing so is told in the log: nobody waits for it, and what was
    to go can go another day.
    """
    try:
        days = retention_days()
        if days is not None and store.is_due("retention_applied", every=DAY):
            gone = store.remove_deleted(older_than=days * DAY).sessions
            if gone:
                _log.info("removed %d sessions deleted more than %d days ago", len(gone), days)
    except StorageError as error:
        _log.warning("deleted sessions were not removed: %s", error)
