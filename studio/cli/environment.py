"""The variables of the environment that calls, times and texts depend on: whether each can be used.

Knows the time zone and the locale; the ways to endpoints and their certificates are `route`'s.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from conductor.workers.endpoint.transport.route import environment_checks
from studio.cli.output.terminal import one_line

_POSIX = re.compile(
    r"(?:[A-Za-z]{3,}|<[\w+-]{3,}>)[+-]?(?:1?\d|2[0-4])(?::[0-5]\d){0,2}(?:[A-Za-z]{3,}|<[\w+-]{3,}>)?\S*"
)
"""https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html, where no name is given."""


def checks() -> dict[str, tuple[bool, str]]:
    """For `proxy`, `certificates`, `time zone` and `locale`: whether their variables can be used, and a
    sentence that names a faulty one.
    """
    return {**environment_checks(), "time zone": _time_zone(), "locale": _locale()}


def _time_zone() -> tuple[bool, str]:
    value = os.environ.get("TZ", "")
    name = value.removeprefix(":")
    with suppress(OSError, ValueError, KeyError):  # a day off, no such zone, no such name
        now = datetime.now().astimezone()
        if not name or _POSIX.fullmatch(name) or _is_zone(name, now):
            return True, f"times are those of {now.tzname()}."
    return False, (
        f"TZ ({one_line(value)}) names no time zone of this machine, so times are in UTC; write it as "
        "Europe/Berlin, install tzdata, or unset it."
    )


def _is_zone(name: str, now: datetime) -> bool:
    """Whether the system reads it as that zone: of one that it does not know it has the first word."""
    if Path(name).is_absolute():
        return Path(name).is_file()
    has_zone = "/" not in name or now.tzname() != name.partition("/")[0]
    return has_zone and now.astimezone(ZoneInfo(name)).utcoffset() == now.utcoffset()


def _locale() -> tuple[bool, str]:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "LANG")
    encoding = (sys.stdout.encoding or "utf-8").upper()
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        return False, (
            f"{variable} ({one_line(os.environ.get(variable, ''))}) names no locale of this machine, and "
            f"text is written as {encoding}; choose one that `locale -a` lists, such as C.UTF-8, or unset it."
        )
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    return True, f"text is written as {encoding}."
