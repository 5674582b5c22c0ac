"""A pool file as a document to edit: tables are added, changed and removed, the rest of the text stays as it
is.

An edit is a new document; only `opened` and `save` touch the disk. Knows the file's text and its tables;
which keys a table may have is in `schema`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import tomlkit
from tomlkit.items import AbstractTable

from conductor.errors import PoolError
from conductor.files.named_file import read_whole, write_whole
from conductor.text.bounded_value import toml_value
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import Pool, parse_pool
from conductor.workers.pool.toml_file import Place, TomlTable, lines_of, table_at, tables_in

Entry = Mapping[str, Any]
"""A table as plain values."""


@dataclass(frozen=True)
class PoolDocument:
    """The text of the file at `path`, and its text `before` the edit; None if there was no file."""

    path: Path
    before: str | None
    text: str

    @classmethod
    def opened(cls, path: Path) -> PoolDocument:
        """The file as it is, empty if it does not exist yet. Raises `PoolError` when it cannot be read, and
        for the name of a built-in set.
        """
        if built_in_file(path) is not None:
            raise PoolError(
                f'{path} is a built-in set of workers, not a file; write workers = "{path}" into a pool file '
                "to add to it."
            )
        before = read_whole(path)
        return cls(path=path, before=before, text=before or "")

    @property
    def built_in(self) -> int:
        """How many workers of a built-in set come before those of the tables. Raises `PoolError`."""
        return len(self.pool().workers) - len(self.workers)

    @property
    def workers(self) -> tuple[Entry, ...]:
        """The `[[worker]]` tables. Raises `PoolError` when the text is not TOML."""
        return tuple(self._tables().get("worker", ()))

    @property
    def conductor(self) -> Entry | None:
        """The `[conductor]` table, or None. Raises `PoolError` when the text is not TOML."""
        table: Entry | None = self._tables().get("conductor")
        return table

    def pool(self) -> Pool:
        """The pool that the text describes, whether its keys are set or not. Raises `PoolError`."""
        whole = str(self.path.resolve())
        return parse_pool(self.text, source=str(self.path), folder=self.path.parent, pool=whole)

    # -- edits -----------------------------------------------------------------------------------

    def with_text(self, text: str) -> PoolDocument:
        return replace(self, text=text)

    def with_worker(self, entry: Entry) -> PoolDocument:
        """One more worker, the last. Raises `PoolError` where the file leaves no room for it."""
        new = _rendered("worker", entry)
        text = self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n"
        gap = "" if not text.strip() or text.endswith("\n\n") else "\n"
        expected = {**self._tables(), "worker": [*self.workers, dict(entry)]}
        return self._edited(f"{text}{gap}{new}", expected)

    def with_conductor(self, entry: Entry) -> PoolDocument:
        """A Conductor in a file that has none, above its workers. Raises `PoolError`."""
        above, below = map("".join, self._parted())
        gap = "\n" if below else ""
        expected = {**self._tables(), "conductor": dict(entry)}
        return self._edited(f"{above}{_rendered('conductor', entry)}{gap}{below}", expected)

    def with_built_in(self, name: str) -> PoolDocument:
        """With that built-in set of workers, in the place of another one. Raises `PoolError`."""
        return self._with_key("workers", name)

    def with_planner(self, name: str, file: str) -> PoolDocument:
        """With the planner of that file under that name, which plans from then on. Raises `PoolError`."""
        document = self._with_key("planner", name)
        lines, tables = lines_of(document.text), document._tables()
        table = table_at(lines, "planners")
        if table is None:
            gap = "" if document.text.endswith("\n\n") else "\n"
            text = f"{document.text.rstrip()}\n{gap}{_rendered('planners', {name: file})}"
        else:
            part = tomlkit.parse("".join(lines[table.header : table.end]))
            section = part["planners"]
            assert isinstance(section, AbstractTable), "the part begins with the table's header"
            section[name] = file
            text = "".join([*lines[: table.header], part.as_string(), *lines[table.end :]])
        planners = {**tables.get("planners", {}), name: file}
        return document._edited(text, {**tables, "planners": planners})

    def without_planner(self) -> PoolDocument:
        """The document whose Conductor plans by itself; files of planners stay named. Raises `PoolError`."""
        expected = {key: value for key, value in self._tables().items() if key != "planner"}
        above, below = self._parted()
        own = [line for line in above if not re.match(r"\s*planner\s*=", line)]
        return self._edited("".join([*own, *below]), expected)

    def _with_key(self, key: str, value: str) -> PoolDocument:
        """With a value at the top, above the tables, in the place of the one that stands there."""
        tables, (above, below) = self._tables(), self._parted()
        line = f"{key} = {_item(value).as_string()}\n"
        if key in tables:
            above = [line if re.match(rf"\s*{key}\s*=", each) else each for each in above]
        else:
            above = [*above, line, *(["\n"] if below else [])]
        return self._edited("".join([*above, *below]), {**tables, key: value})

    def _parted(self) -> tuple[list[str], list[str]]:
        """The lines above the first table, and those from there on."""
        lines = lines_of(self.text)
        at = min((table.first for table in tables_in(lines)), default=len(lines))
        return list(lines[:at]), list(lines[at:])

    def changed(self, place: Place, entry: Entry) -> PoolDocument:
        """Another table at `place`; keys whose value is unchanged stay as they are written.

        Workers that fall back to a renamed one follow it. Raises `PoolError`.
        """
        name = self._entry_at(place)[2].get("name")
        document = self._changed(place, entry)
        if place == "conductor" or "name" not in entry or name == entry["name"]:
            return document
        for at, other in enumerate(document.workers):
            if at != place and "fallback" in other and other["fallback"] == name:
                document = document._changed(at, {**other, "fallback": entry["name"]})
        return document

    def without(self, place: Place) -> PoolDocument:
        """The document without that table and the comment right above it. Raises `PoolError`."""
        expected, owner, _ = self._entry_at(place)
        lines, table = self._table(place)
        above, below = "".join(lines[: table.first]), "".join(lines[table.tail :])
        # The gap below goes with the table; at the end of the file it is the gap above.
        text = above + below.lstrip("\r\n") if below.strip() else above.rstrip() + "\n"
        del owner[place]
        return self._edited(text, {key: value for key, value in expected.items() if value != []})

    # -- the disk --------------------------------------------------------------------------------

    def save(self) -> Pool:
        """Replace the file by the text. Returns the pool that it describes.

        Raises `PoolError`, and leaves the file as it is, when the text describes no pool, when another
        program or person changed the file meanwhile, or when it cannot be written.
        """
        pool = self.pool()
        write_whole(self.path, self.text, before=self.before)
        return pool

    # -- inside ----------------------------------------------------------------------------------

    def _tables(self) -> dict[str, Any]:
        try:
            return toml_value(self.text)
        except ValueError:
            # The reader's error names the line.
            self.pool()
            raise

    def _entry_at(self, place: Place) -> tuple[dict[str, Any], Any, Entry]:
        """All tables, the list or table that holds the one at `place`, and that one."""
        tables = self._tables()
        owner: Any = tables if place == "conductor" else tables.get("worker", [])
        try:
            return tables, owner, owner[place]
        except (KeyError, IndexError):
            raise PoolError(
                f"{self.path} has no such table any more; read its present text, and edit that."
            ) from None

    def _table(self, place: Place) -> tuple[list[str], TomlTable]:
        lines = lines_of(self.text)
        table = table_at(lines, place)
        if table is None:
            raise self._unusual()
        return lines, table

    def _changed(self, place: Place, entry: Entry) -> PoolDocument:
        lines, table = self._table(place)
        part = tomlkit.parse("".join(lines[table.header : table.end]))
        section = part["conductor"] if place == "conductor" else part["worker"][0]
        assert isinstance(section, AbstractTable), "the part begins with the table's header"
        _update(section, entry)
        text = "".join([*lines[: table.header], part.as_string(), *lines[table.end :]])
        expected, owner, _ = self._entry_at(place)
        owner[place] = dict(entry)
        return self._edited(text, expected)

    def _edited(self, text: str, expected: Mapping[str, Any]) -> PoolDocument:
        """The document with `text`, where that has the expected values and no others."""
        if "\r\n" in self.text:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            understood = toml_value(text) == expected
        except ValueError:
            understood = False
        if not understood:
            raise self._unusual()
        return replace(self, text=text)

    def _unusual(self) -> PoolError:
        return PoolError(
            f"{self.path} is written in a way that cannot be edited table by table; edit it as text, and "
            "give each worker a [[worker]] table and the Conductor a [conductor] table."
        )


def _rendered(name: Literal["worker", "conductor", "planners"], entry: Entry) -> str:
    header = "[[worker]]" if name == "worker" else f"[{name}]"
    lines = [f"{tomlkit.key(key).as_string()} = {_item(value).as_string()}" for key, value in entry.items()]
    return "\n".join([header, *lines, ""])


def _update(table: AbstractTable, entry: Entry) -> None:
    for key in [key for key in table if key not in entry]:
        del table[key]
    for key, value in entry.items():
        if key not in table or not _same(table[key], value):
            table[key] = _item(value)


def _same(item: Any, value: Any) -> bool:
    """Whether an item needs no rewriting: 1 equals 1.0, but not true."""
    plain = item.unwrap() if hasattr(item, "unwrap") else item
    return bool(plain == value) and isinstance(plain, bool) == isinstance(value, bool)


def _item(value: Any) -> Any:
    """A value in one line: tables are written inline."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({key: _item(inner) for key, inner in value.items()})
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(_item(inner) for inner in value)
        return array
    return tomlkit.item(value)
