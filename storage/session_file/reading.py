"""Session files read entry by entry: one session, or several in one file.

Checks each entry by itself; whether entries fit together is the references' matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import ValidationError

from conductor.errors import FormatError, WorkflowError
from storage.session_entries import SECTIONS, Entry, Section
from storage.session_file.cursor import Cursor
from storage.session_file.document import BULK_FORMAT, FORMAT
from storage.session_file.upgrades import UPGRADES, Upgrade, upgraded

MAX_BYTES = 50_000_000
"""Larger files are refused before anything of them is read, and none is written.

All of a file comes in within one transaction, while nobody else writes: of short events this many bytes take
about as long as another process waits for its turn.
"""

MAX_SESSIONS = 10_000

Read = tuple[Section, Any, Entry]
"""An entry's section, the entry as it stood in the file (brought up to date), and what it says."""


def in_bytes(text: str | bytes) -> bytes:
    """The file's bytes. Raises `FormatError` where there are more than `MAX_BYTES`."""
    if len(text) > MAX_BYTES:
        raise FormatError(
            f"The file has {len(text):,} bytes; a session file has at most {MAX_BYTES:,}. "
            "Choose a file exported as a session."
        )
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def format_of(data: bytes) -> str | None:
    """What the file says that it is; None where it does not begin by saying it."""
    cursor = Cursor(data)
    if next(cursor.members(), None) != "format":
        return None
    said = cursor.value()
    return said if isinstance(said, str) else None


def sessions_in(data: bytes, *, upgrades: Sequence[Upgrade] = UPGRADES) -> Iterator[Iterator[Read]]:
    """The entries of each session in the file; those of one have to be read before the next one's.

    Raises `FormatError` with one sentence at the first thing that is wrong.
    """
    cursor = Cursor(data)
    if format_of(data) == BULK_FORMAT:
        yield from _bulk(cursor, upgrades)
    else:
        yield _session(cursor, upgrades)
    cursor.finish()


def _bulk(cursor: Cursor, upgrades: Sequence[Upgrade]) -> Iterator[Iterator[Read]]:
    members = cursor.members()
    _version(cursor, members, BULK_FORMAT, newest=len(upgrades) + 1)
    for name in members:
        if name != "sessions":
            raise _unknown(name)
        for place in cursor.elements():
            if place > MAX_SESSIONS:
                raise FormatError(f"The file has more than {MAX_SESSIONS:,} sessions; import fewer at once.")
            yield _session(cursor, upgrades)


def _session(cursor: Cursor, upgrades: Sequence[Upgrade]) -> Iterator[Read]:
    members = cursor.members()
    version = _version(cursor, members, FORMAT, newest=len(upgrades) + 1)
    found = False
    for name in members:
        if name not in SECTIONS:
            raise _unknown(name)
        section = cast("Section", name)
        places = [0] if section == "session" else cursor.elements()
        for place in places:
            value = cursor.value()
            where = f"{section}.{place}" if place else section
            if not isinstance(value, dict):
                raise FormatError(f"The file's {where!r} is wrong: it must be an object.")
            value = upgraded(section, value, version=version, upgrades=upgrades)
            yield section, value, _checked(section, value, where)
        found = found or section == "session"
    if not found:
        raise FormatError('The file holds no session: it has no "session".')


def _version(cursor: Cursor, members: Iterator[str], form: str, *, newest: int) -> int:
    if next(members, None) != "format" or cursor.value() != form:
        raise FormatError(f'The file is no session: it must begin with {{"format": "{form}", "version": ...')
    if next(members, None) != "version":
        raise FormatError('The file does not say its version: "version" must follow "format".')
    version = cursor.value()
    if type(version) is not int or version < 1:
        raise FormatError("The file's version is not a whole number from 1 on.")
    if version > newest:
        raise FormatError(
            f"The file has version {version}; this program reads up to version {newest}. "
            "Update Conductor Studio, or export it again with the version that you have here."
        )
    return version


def _checked(section: Section, value: Any, where: str) -> Entry:
    try:
        return cast("Entry", SECTIONS[section].validate_python(value))
    except WorkflowError as error:
        raise FormatError(f"The file's {where!r} has a workflow that is not valid: {error}") from error
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False, include_context=False)[0]
        # Which of several forms was tried is pydantic's own matter.
        loc = [str(part)[:60] for part in reason["loc"] if not str(part).startswith("literal[")]
        place = ".".join((where, *loc))
        if reason["type"] == "extra_forbidden":
            raise _unknown(place) from error
        raise FormatError(f"The file's {place!r} is wrong: {reason['msg']}.") from error


def _unknown(name: str) -> FormatError:
    return FormatError(
        f"The file has {name[:200]!r}, which this version of Conductor Studio does not know. "
        "Update Conductor Studio, or choose a file that it wrote."
    )
