"""Sessions made of a file, which is read twice: to judge all of it, then to give its entries other ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from conductor.errors import FormatError
from conductor.events import Event
from conductor.output import Output
from storage.journal import tokens_of
from storage.records import Session
from storage.session_copy import Copy
from storage.session_entries import SECTIONS, Entry, Kind, Section
from storage.session_file.packed import Packed
from storage.session_file.reading import Read, in_bytes, sessions_in
from storage.session_file.references import REFERENCES, References, Row
from storage.session_file.upgrades import UPGRADES, Upgrade
from storage.sessions import new_id
from storage.store.session_store import SessionStore

Ids = Mapping[str, Mapping[str, str]]
"""New ids by section and by the id in the file."""

_NUMBERED: tuple[Kind, ...] = ("plans", "revisions", "runs", "experiments")


def import_session(
    store: SessionStore, text: str | bytes, *, upgrades: Sequence[Upgrade] = UPGRADES
) -> Session:
    """The session of a file of one, made anew in the store however often it is imported.

    Raises `FormatError`, and then nothing is kept, where the file is wrong in any way or holds several.
    """
    copies = _copies(in_bytes(text), upgrades)
    if len(copies) != 1:
        raise FormatError(f"The file holds {len(copies):,} sessions, not one; import them all together.")
    return store.keep_copies(copies)[0]


def import_sessions(
    store: SessionStore, text: str | bytes, *, upgrades: Sequence[Upgrade] = UPGRADES
) -> tuple[Session, ...]:
    """The sessions of a file of one or several: all of them, or none. Raises as `import_session`."""
    return store.keep_copies(_copies(in_bytes(text), upgrades))


def _copies(data: bytes, upgrades: Sequence[Upgrade]) -> list[Copy]:
    orders: list[list[Row]] = []
    for entries in sessions_in(data, upgrades=upgrades):
        references = References()
        for section, _, entry in entries:
            references.add(section, entry)
        orders.append(references.check())
    again = sessions_in(data, upgrades=upgrades)
    return [_copy(entries, order) for entries, order in zip(again, orders, strict=True)]


def _copy(entries: Iterator[Read], order: Sequence[Row]) -> Copy:
    found: dict[Section, list[Any]] = {section: [] for section in SECTIONS}
    outputs, events = Packed[Output](SECTIONS["outputs"]), Packed[Event](SECTIONS["events"])
    renaming = _Renaming(order)
    places = {row: place for place, row in enumerate(order)}
    rows: list[tuple[int, tuple[Kind, int, Any]]] = []
    for section, value, _ in entries:
        entry: Any = renaming.entry(section, value)
        if section == "events":
            events.add(entry)
        elif section == "outputs":
            outputs.add(entry)
        else:
            found[section].append(entry)
        if section in _NUMBERED:
            rows.append((places[section, value["id"]], (section, len(found[section]), entry)))
    return Copy(
        session=found["session"][0],
        rows=[row for _, row in sorted(rows, key=lambda placed: placed[0])],
        corrections=found["corrections"],
        ratings=found["ratings"],
        outputs=outputs,
        events=events,
        used=tokens_of(events),
    )


class _Renaming:
    """Entries with new ids in the place of the file's own; ids of what the file does not have stay."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._ids: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for kind, named in rows:
            self._ids[kind][named] = new_id()

    def entry(self, section: Section, value: Mapping[str, Any]) -> Entry:
        """The entry as its section has it."""
        changed = dict(value)
        if section in ("outputs", "events"):
            changed = self._told(changed)
        elif section == "revisions":
            changed["workflow"] = self._told(changed["workflow"])
        elif section == "plans" and changed.get("alternative") is not None:
            batches = self._ids["alternatives"]
            changed["alternative"] = batches.setdefault(changed["alternative"], new_id())
        for name, kind in REFERENCES.get(section, {}).items():
            if changed.get(name) is not None:
                changed[name] = self._ids[kind][changed[name]]
        if section in _NUMBERED:
            changed["id"] = self._ids[section][changed["id"]]
        return cast("Entry", SECTIONS[section].validate_python(changed))

    def _told(self, value: Any) -> Any:
        """What events and outputs tell, where they name runs; no deeper than a value is nested."""
        if isinstance(value, list):
            return [self._told(part) for part in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self._ids["runs"].get(part, part)
            if name in ("run", "parent") and isinstance(part, str)
            else self._told(part)
            for name, part in value.items()
        }
