"""Sessions made of a file, which is read twice: first it is checked, then inserted with other ids.

Neither blocks other work: entries are inserted in many short transactions, and shown by the last one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, BinaryIO

from storage.session_entries import REFERENCES, Entry, Kind
from storage.store.session_store import SessionStore
from storage.tables.rows import new_id
from studio.session_file.consistency import Consistency
from studio.session_file.one_file import lines_in
from studio.session_file.reading import RawEntry, raw_entries

_IDS: Mapping[Kind, Mapping[str, str]] = {
    "session": REFERENCES["session"],
    "plan": {"id": "plan", "alternative": "alternative", **REFERENCES["plan"]},
    "revision": {"id": "revision", **REFERENCES["revision"]},
    "run": {"id": "run", **REFERENCES["run"]},
    "experiment": {"id": "experiment", **REFERENCES["experiment"]},
    "correction": REFERENCES["correction"],
    "rating": REFERENCES["rating"],
    "note": {"id": "note", **REFERENCES["note"]},
    "change": {"id": "alternative", **REFERENCES["change"]},
}
"""Fields that get new ids, and of what."""


def import_sessions(
    store: SessionStore, file: BinaryIO, *, progress: Callable[[int], None] | None = None
) -> Sequence[str]:
    """The ids of the sessions of a file, which can be read at any place: new ones, however often it is
    imported. `progress` is called now and then with how many are inserted.

    Raises `FormatError`, and then nothing is imported, where the file is wrong in any way.
    """
    file = lines_in(file)
    runs: list[frozenset[str]] = []
    for _, entries in groupby(raw_entries(file), key=attrgetter("session")):
        session = Consistency()
        for _ in session.checked(entries):
            pass
        runs.append(session.runs)
    return store.files.insert_sessions(_renamed(file, runs), progress=progress)


def _renamed(file: BinaryIO, runs: Sequence[frozenset[str]]) -> Iterator[tuple[Kind, Entry]]:
    """The entries with new ids in the place of the file's own; ids of runs that the file lacks stay."""
    sessions = iter(runs)
    ids: defaultdict[tuple[str, str], str] = defaultdict(new_id)
    own_runs: frozenset[str] = frozenset()
    for raw in raw_entries(file):
        if raw.kind == "session":
            own_runs = next(sessions)
            ids.clear()
        yield raw.kind, raw._replace(value=_with_ids(raw, ids, own_runs)).checked()


def _with_ids(
    raw: RawEntry, ids: Mapping[tuple[str, str], str], own_runs: frozenset[str]
) -> Mapping[str, Any]:
    """The entry with new ids, which `ids` makes at first use."""
    value = dict(raw.value)

    def within(part: Any) -> Any:
        """Events, outputs and pins name runs at any depth."""
        if isinstance(part, list):
            return [within(each) for each in part]
        if not isinstance(part, dict):
            return part
        return {
            name: ids["run", each]
            if name in ("run", "parent") and isinstance(each, str) and each in own_runs
            else within(each)
            for name, each in part.items()
        }

    if raw.kind in ("output", "event"):
        value = {**within(value)}
        if isinstance(scope := value.get("scope"), dict):
            # Here no person has allowed a tool to act.
            scope.pop("grants", None)
        return value
    if raw.kind == "revision":
        value["workflow"] = within(value["workflow"])
    for name, kind in _IDS[raw.kind].items():
        if value.get(name) is not None:
            value[name] = ids[kind, value[name]]
    return value
