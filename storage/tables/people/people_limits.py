"""Limits of people by name, and of everyone who has none of their own.

Functions of a connection inside a transaction. What people have used is in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from conductor.errors import StorageError
from conductor.text.json_text import portable
from storage.database.schema import PEOPLE_LIMITS
from storage.limits import Limits, Spent, begin_of
from storage.tables import ledger

EVERYONE = "*"
"""The name under which the limits are that everyone has without limits of their own."""

MAX_PERSON = 320
"""Characters of a name; an address of mail has no more."""


def set_limits(connection: Connection, person: str, limits: Limits | None) -> str:
    """Replace the person's own limits; None: they have those of everyone. Returns the name as it is stored.

    Raises `StorageError` for a name that is empty or too long.
    """
    name = _name(person)
    if not 0 < len(name) <= MAX_PERSON:
        raise StorageError(f"A person has a name of 1 to {MAX_PERSON} characters; no limit was changed.")
    connection.execute(PEOPLE_LIMITS.delete().where(PEOPLE_LIMITS.c.person == name))
    if limits is not None:
        connection.execute(PEOPLE_LIMITS.insert(), {"person": name, "limits": limits})
    return name


def limits_by_person(connection: Connection) -> Mapping[str, Limits]:
    """All limits by name, those of `EVERYONE` included."""
    rows = connection.execute(select(PEOPLE_LIMITS).order_by(PEOPLE_LIMITS.c.person))
    return {row.person: row.limits for row in rows}


def limits_of(connection: Connection, person: str) -> Limits | None:
    """The person's own limits, else those of everyone; None without any."""
    name = _name(person)
    both = select(PEOPLE_LIMITS).where(PEOPLE_LIMITS.c.person.in_((name, EVERYONE)))
    limits = {row.person: row.limits for row in connection.execute(both)}
    return limits.get(name, limits.get(EVERYONE))


def _name(person: str) -> str:
    """The name as it is stored: an address in small letters, as that of who is logged in."""
    name = portable(person).strip()
    return name.lower() if "@" in name else name


def spent(connection: Connection, now: float, person: str, limits: Limits) -> Spent:
    """What the person's requests have used in the period of these limits that is now."""
    return ledger.spent(connection, begin=begin_of(limits.period, now=now), person=person)
