"""Reads a pool's TOML file: its tables in order, and for every fault its line.

Knows the structure of the file and the names in it; which keys a table may have is in `schema`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from conductor.errors import PoolError
from conductor.workers.endpoint.tokens import read_tokenizer
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.schema import (
    ConductorTable,
    ModelTable,
    WorkerTable,
    worker_table,
)
from conductor.workers.pool.schema_errors import faults
from conductor.workers.pool.toml_tables import ends_before, lines_of, tables_in
from conductor.workers.protocol import Worker


@dataclass(frozen=True)
class PoolFile:
    """What a pool file describes."""

    workers: tuple[Worker, ...]
    conductor: ConductorTable | None


def read_tables(text: str, *, source: str, folder: Path) -> PoolFile:
    """The workers in order, with their fallbacks, and the Conductor. Raises `PoolError`.

    Files that a table names are looked up in `folder`.
    """
    document = _document(text, source)
    places = _Places(text, source)
    for key in document:
        if key not in ("worker", "conductor"):
            raise places.error(
                None, key, f"unknown key {key!r}; use [[worker]] tables and one [conductor] table."
            )
    conductor = _conductor(document, places)
    tables = _tables(document, places)
    _check_names(tables, conductor, places)
    _check_fallbacks(tables, places)
    tables = _with_tokenizers(tables, folder, places)
    return PoolFile(workers=_with_fallbacks(tables), conductor=conductor)


class _Places:
    """The lines of keys. A table is a worker's index (from 0), "conductor", or None for the whole file."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._lines = lines_of(text)

    def error(self, table: int | Literal["conductor"] | None, key: str, message: str) -> PoolError:
        """`message` with the file and the line of `key`, else of its table."""
        line = self._line(table, key)
        reason = message.partition(f", {key}: ")[2] or message
        return PoolError(f"{self.source}, line {line}: {message}", line=line, key=key, reason=reason)

    def _line(self, table: int | Literal["conductor"] | None, key: str) -> int:
        start, end = self._extent(table)
        owner = "" if table is None else r"""(?:\[\s*(?:worker|conductor)\s*\.\s*)?"""
        spelled = re.compile(rf"""\s*{owner}\[*\s*["']?{re.escape(key)}["']?\s*[\]=.]""")
        for at in range(start, end):
            if spelled.match(self._lines[at]) and ends_before(self._lines, start, at):
                return at + 1
        return start + 1

    def _extent(self, table: int | Literal["conductor"] | None) -> tuple[int, int]:
        """The first line of a table, and the first one after it, from 0; of the whole file for None."""
        name, at = ("conductor", 0) if table == "conductor" else ("worker", table)
        own = [found for found in tables_in(self._lines) if found.name == name]
        if at is None or at >= len(own):
            return 0, len(self._lines)
        return own[at].header, own[at].following


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+),", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise PoolError(f"{source} is not valid TOML: {error}.", line=line) from None
    except RecursionError as error:
        raise PoolError(f"{source} nests brackets too deeply; a worker's table needs none.") from error
    except ValueError as error:
        raise PoolError(f"{source} holds a number with too many digits; write a shorter one.") from error


def _conductor(document: Mapping[str, Any], places: _Places) -> ConductorTable | None:
    entry = document.get("conductor")
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise places.error(None, "conductor", "write one [conductor] table, with single brackets.")
    try:
        table = ConductorTable.model_validate(entry)
    except ValidationError as error:
        key, message = faults(error, entry, tagged=False)[0]
        raise places.error("conductor", key, f"[conductor], {key}: {message}") from None
    _check_price("conductor", table, "[conductor]", places)
    return table


def _tables(document: Mapping[str, Any], places: _Places) -> list[WorkerTable]:
    entries = document.get("worker", [])
    if not isinstance(entries, list):
        raise PoolError(f"{places.source}: write [[worker]] with two brackets, one table a worker.")
    if not entries:
        raise PoolError(f"{places.source} has no worker; add at least one [[worker]] table.")
    return [_worker(entry, index, places) for index, entry in enumerate(entries)]


def _worker(entry: object, index: int, places: _Places) -> WorkerTable:
    try:
        table = worker_table(entry)
    except ValidationError as error:
        key, message = faults(error, entry, tagged=True)[0]
        raise places.error(index, key, f"worker {index + 1}, {key}: {message}") from None
    if isinstance(table, ModelTable):
        _check_price(index, table, f"worker {index + 1}", places)
    return table


def _check_price(
    place: int | Literal["conductor"], table: ModelTable | ConductorTable, whose: str, places: _Places
) -> None:
    prices = {"price_prompt": table.price_prompt, "price_completion": table.price_completion}
    missing = [key for key, price in prices.items() if price is None]
    if len(missing) == 1:
        (given,) = prices.keys() - missing
        raise places.error(place, given, f"{whose}, {given}: it needs {missing[0]} too.")


def _check_names(tables: list[WorkerTable], conductor: ConductorTable | None, places: _Places) -> None:
    names = {conductor.name} if conductor is not None and conductor.as_worker else set()
    for index, table in enumerate(tables):
        if table.name in names:
            raise places.error(
                index, "name", f"a second worker is named {table.name!r}; give each its own name."
            )
        names.add(table.name)


def _check_fallbacks(tables: list[WorkerTable], places: _Places) -> None:
    by_name = {table.name: table for table in tables}
    for index, table in enumerate(tables):
        chain = [table.name]
        while (following := _fallback(by_name[chain[-1]])) is not None:
            where = f"worker {index + 1}, fallback:"
            if following not in by_name:
                if len(chain) > 1:
                    break  # reported at the other worker
                known = ", ".join(by_name)
                raise places.error(
                    index, "fallback", f"{where} there is no worker named {following!r}; there are {known}."
                )
            if following in chain:
                circle = " → ".join([*chain, following])
                raise places.error(
                    index, "fallback", f"{where} {circle} goes in a circle; end it at a worker without one."
                )
            chain.append(following)


def _fallback(table: WorkerTable) -> str | None:
    return table.fallback if isinstance(table, ModelTable) else None


def _with_tokenizers(tables: list[WorkerTable], folder: Path, places: _Places) -> list[WorkerTable]:
    """The tables with whole paths. Raises `PoolError` at the first tokenizer that cannot be read."""
    found: list[WorkerTable] = []
    for index, table in enumerate(tables):
        if isinstance(table, ModelTable) and table.tokenizer is not None:
            path = _whole_path(table.tokenizer, folder)
            try:
                read_tokenizer(path)
            except PoolError as error:
                raise places.error(index, "tokenizer", f"worker {index + 1}, tokenizer: {error}") from error
            found.append(table.model_copy(update={"tokenizer": str(path)}))
        else:
            found.append(table)
    return found


@lru_cache(maxsize=4)
def tokenizer_files(text: str, folder: Path) -> tuple[Path, ...]:
    """The tokenizers that a pool file in `folder` names, there or not; none where it is no pool file."""
    try:
        entries = tomllib.loads(text).get("worker", [])
    except (ValueError, RecursionError):
        return ()
    tables = entries if isinstance(entries, list) else []
    named = [table.get("tokenizer") for table in tables if isinstance(table, dict)]
    return tuple(_whole_path(said, folder) for said in named if isinstance(said, str))


def _whole_path(said: str, folder: Path) -> Path:
    home, _, rest = said.partition("/")
    return (Path.home() / rest if home == "~" else folder / said).absolute()


def _with_fallbacks(tables: list[WorkerTable]) -> tuple[Worker, ...]:
    """The workers. A fallback is the same object as the worker of that name, so both share its limits."""
    by_name = {table.name: table for table in tables}
    alone = {table.name: table.build() for table in tables}

    def whole(name: str) -> Worker:
        second = _fallback(by_name[name])
        return alone[name] if second is None else FallbackWorker(alone[name], whole(second))

    return tuple(whole(table.name) for table in tables)
