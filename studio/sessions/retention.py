"""How long sessions that were deleted or are not to be stored stay: settings, and their use once a day.

Knows the settings and the calendar; the store removes the sessions.
"""

from __future__ import annotations

import logging

from conductor.errors import StorageError
from conductor.own_settings import setting
from storage.store import SessionStore

VARIABLE = "CONDUCTOR_RETENTION_DAYS"
DEFAULT_DAYS = 30
"""Where the variable is not set."""

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
