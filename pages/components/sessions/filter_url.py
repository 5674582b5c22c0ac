"""A filter of sessions as an address: the parameters of the sessions page's URL. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, TypeVar, get_args

from conductor.text.calendar_time import local_time, unix_seconds
from conductor.workflow.model import Topology
from pages.components.view_models.run_text import STATE_ICONS
from storage import SessionFilter

T = TypeVar("T")

NAMES = ("q", "state", "topology", "worker", "tag", "from", "to", "least", "most", "deleted", "evaluated")
"""The parameters of the URL that are read; others are ignored."""

STATES = tuple(STATE_ICONS)
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)


def filter_of(named: Mapping[str, Sequence[str]]) -> SessionFilter:
    """The filter that an address names; parameters that cannot be read are left out."""
    first = {name: values[0] for name, values in named.items() if values}
    since, until = _read(date.fromisoformat, first.get("from")), _read(date.fromisoformat, first.get("to"))
    return SessionFilter(
        search=first.get("q", ""),
        states=tuple(state for state in STATES if state in named.get("state", ())),
        topologies=tuple(topology for topology in TOPOLOGIES if topology in named.get("topology", ())),
        workers=tuple(dict.fromkeys(named.get("worker", ()))),
        tags=tuple(dict.fromkeys(named.get("tag", ()))),
        since=None if since is None else begin_of(since),
        until=None if until is None else end_of(until),
        least_tokens=_read(_tokens, first.get("least")),
        most_tokens=_read(_tokens, first.get("most")),
        deleted=first.get("deleted") == "yes",
        evaluated=first.get("evaluated") == "yes",
    )


def address_of(filter: SessionFilter) -> dict[str, list[str]]:
    """The parameters that name a filter, without empty ones."""
    since, until = day_of(filter.since), day_of(filter.until)
    named: dict[str, Sequence[str]] = {
        "q": [filter.search] if filter.search else [],
        "state": filter.states,
        "topology": filter.topologies,
        "worker": filter.workers,
        "tag": filter.tags,
        "from": [] if since is None else [since.isoformat()],
        "to": [] if until is None else [until.isoformat()],
        "least": [] if filter.least_tokens is None else [str(filter.least_tokens)],
        "most": [] if filter.most_tokens is None else [str(filter.most_tokens)],
        "deleted": ["yes"] if filter.deleted else [],
        "evaluated": ["yes"] if filter.evaluated else [],
    }
    return {name: list(values) for name, values in named.items() if values}


def begin_of(day: date) -> float:
    """The first moment of a day of this machine's calendar, in Unix seconds."""
    return unix_seconds(datetime.combine(day, time.min))


def end_of(day: date) -> float:
    """The last moment of a day, in Unix seconds: so long before the next that it differs in every year."""
    return unix_seconds(datetime.combine(day, time(23, 59, 59, 999_900)))


def day_of(moment: float | None) -> date | None:
    """The day of a moment in Unix seconds, None for none."""
    return None if moment is None else local_time(moment).date()


def _tokens(text: str) -> int:
    tokens = int(text)
    if not 0 <= tokens < 2**53:
        raise ValueError(text)
    return tokens


def _read(read: Callable[[str], T], text: str | None) -> Any:
    try:
        return None if text is None else read(text)
    except ValueError:
        return None
