"""The usage of requests by worker, person, token, session or day, with names that people read.

Knows the store; draws and prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.values.total import NOTHING, Total
from storage import Reality, SessionStore, UsageKey, Use
from storage.limits import Limits
from storage.tables.people.people_limits import EVERYONE

_WITHOUT: Mapping[UsageKey, str] = {
    "person": "no name",
    "token": "without a token",
    "session": "without a session",
}
_REALITY: Mapping[Reality, str] = {
    "real": "",
    "embedded": "on this machine, not paid for",
    "simulated": "simulated",
    "earlier": "before there was a ledger",
}


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What requests used that have `key` in common: a name, an id, a day; None for those that have none.

    `note` is what is special about them, such as "simulated" or the limits of a person, or "". `is_session`:
    `key` is the id of a session that can be opened.
    """

    key: str | None
    name: str
    note: str
    total: Total
    is_session: bool = False


@dataclass(frozen=True, slots=True)
class UsageTable:
    """Rows and their sum `total`, in which those apart are not: those of models on this machine, simulated
    ones, and what is in other rows as well.
    """

    rows: tuple[UsageRow, ...]
    apart: tuple[UsageRow, ...]
    total: Total

    @classmethod
    def read(cls, store: SessionStore, by: UsageKey, *, since: float = 0.0) -> UsageTable:
        """What requests used that ended since then (Unix seconds): days newest first, of others those first
        that used most tokens.
        """
        used = store.ledger.used(by, since=since)
        names = _names(store, by, since)
        limits = store.people.limits_by_person() if by == "person" else {}
        rows = {use: _row(use, by, names, limits) for use in sorted(used, key=_day if by == "day" else _most)}
        real = tuple(row for use, row in rows.items() if use.reality == "real")
        apart = tuple(row for use, row in rows.items() if use.reality != "real")
        return cls(real, apart, sum((row.total for row in real), NOTHING))


def _names(store: SessionStore, by: UsageKey, since: float) -> Mapping[str, str]:
    if by == "session":
        return store.ledger.titles(since=since)
    return {token.id: token.name for token in store.tokens.listed()} if by == "token" else {}


def _row(use: Use, by: UsageKey, names: Mapping[str, str], limits: Mapping[str, Limits]) -> UsageRow:
    (key,) = use.names
    note, name = _REALITY[use.reality], _WITHOUT.get(by, "") if key is None else names.get(key, key)
    if key is not None and (own := limits.get(key, limits.get(EVERYONE))) is not None:
        note = ", ".join(filter(None, (note, f"may use {', '.join(own.texts)}")))
    is_session = by == "session" and key in names
    if by == "session" and key is not None and not is_session:
        note = ", ".join(filter(None, ("removed", note)))
    return UsageRow(key, name, note, use.total, is_session)


def _day(use: Use) -> int:
    return -int((use.names[0] or "0").replace("-", ""))


def _most(use: Use) -> tuple[float, float, str]:
    least = use.total.lower
    return -(least.total or 0), -(least.cost or 0.0), use.names[0] or ""
