"""Reads a pool's TOML file: its tables in order, and for every fault its line.

Knows the structure of the file and the names in it; which keys a table may have is in `schema`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import ValidationError

from conductor.drawing.marks import Colour
from conductor.errors import FormatError, PoolError
from conductor.text.bounded_value import BoundsError, toml_value
from conductor.workers.embedded.model_file import SHIPPED_MODEL
from conductor.workers.endpoint.tokens import read_tokenizer
from conductor.workers.local_model import MODEL_FILES, SHIPPED
from conductor.workers.pool.built_in import BUILT_IN, EMBEDDINGS
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.kinds import (
    ConductorEntry,
    EmbeddingsEntry,
    conductor_table,
    embeddings_table,
    faults,
    worker_table,
)
from conductor.workers.pool.schema import (
    ConductorTable,
    EmbeddedConductorTable,
    EmbeddedEmbeddingsTable,
    EmbeddedTable,
    LocalConductorTable,
    ModelTable,
    ToolsTable,
    WithTools,
)
from conductor.workers.pool.table import PlannerTable, WorkerTable, built
from conductor.workers.protocol import Worker
from conductor.workers.tools.permissions import Permissions
from conductor.workers.tools.tool_server import ToolServer
from conductor.workers.tools.tool_worker import ToolWorker
from conductor.workers.wording.checkout import read_wording, sources

T = TypeVar("T")

Place = int | Literal["conductor"]
"""A worker's position, from 0, or the Conductor's table."""

ToolsPlace = tuple[Literal["tools"], int]
"""A `[[tools]]` table by its position, from 0."""

AnyPlace = Place | ToolsPlace | Literal["embeddings", "fitted", "planners"]
"""Also the tables that only the file itself has."""

_SINGLE = ("conductor", "embeddings", "fitted", "planners")
_FITTED = re.compile(r"[A-Za-z0-9_-]+")


class PoolTables(NamedTuple):
    """What a pool file describes: the workers in order, with their fallbacks, and its other tables."""

    workers: tuple[Worker, ...]
    conductor: ConductorEntry | None
    embeddings: EmbeddingsEntry | None
    fitted: Mapping[str, Path]
    colours: Mapping[str, Colour]
    planners: Mapping[str, Path]
    planner: str | None
    tool_servers: tuple[ToolServer, ...]


def read_tables(text: str, *, source: str, folder: Path, pool: str) -> PoolTables:
    """The tables of this text. Raises `PoolError`. Files that they name are looked up in `folder`.

    `pool` is the whole path of the file with this text, "" where it is in none.
    """
    document = _document(text, source)
    places = _Places(text, source)
    for key in document:
        if key not in ("workers", "worker", "tools", "planner", *_SINGLE):
            raise places.error(
                None, key, f"unknown key {key!r}; use [[worker]] tables and one [conductor] table."
            )
    for name in _SINGLE:
        if not isinstance(document.get(name, {}), dict):
            raise places.error(None, name, f"write one [{name}] table, with single brackets.")
    ready = _built_in(document, places)
    conductor: ConductorEntry | None = None
    embeddings: EmbeddingsEntry | None = EMBEDDINGS.get(document.get("workers", ""))
    if (entry := document.get("conductor")) is not None:
        table = _table(entry, "conductor", conductor_table, places).of(pool)
        conductor = _with_model(_with_folder(table, folder, places), folder)
        conductor = conductor.model_copy(update=_copy(conductor, "conductor", folder, places))
        if isinstance(conductor, PlannerTable):
            _ = _built(conductor, "conductor", places)
    if (entry := document.get("embeddings")) is not None:
        embeddings = _with_model(_table(entry, "embeddings", embeddings_table, places).of(pool), folder)
    fitted, planners = (
        _files(table, document.get(table, {}), folder, places) for table in ("fitted", "planners")
    )
    planner = document.get("planner")
    if planner is not None and (not isinstance(planner, str) or planner not in planners):
        raise places.error(None, "planner", f"[planners] names no {planner!r}; write its file there.")
    entries = document.get("worker", [])
    if not isinstance(entries, list):
        raise PoolError(f"{source}: write [[worker]] with two brackets, one table a worker.")
    if not entries and not ready:
        raise PoolError(f"{source} has no worker; add at least one [[worker]] table.")
    tables = [_table(entry, at, worker_table, places).of(pool) for at, entry in enumerate(entries)]
    _check_names(tables, [worker.card.name for worker in ready], conductor, places)
    _check_fallbacks(tables, places)
    tables = [_with_tokenizer(table, at, folder, places) for at, table in enumerate(tables)]
    tables = [_with_model(table, folder) for table in tables]
    tables = [table.model_copy(update=_copy(table, at, folder, places)) for at, table in enumerate(tables)]
    colours = {table.name: table.colour for table in tables if table.colour is not None}
    tools = _tool_tables(document.get("tools", []), places, pool)
    _check_tools(tables, tools, places)
    workers = (*ready, *_with_fallbacks(tables, tools, folder, places))
    servers = tuple(table.server(folder) for table in tools.values())
    return PoolTables(workers, conductor, embeddings, fitted, colours, planners, planner, servers)


def _built_in(document: Mapping[str, Any], places: _Places) -> tuple[Worker, ...]:
    """The set of workers that the file names, empty where it names none."""
    name = document.get("workers")
    if name is None:
        return ()
    if not isinstance(name, str) or name not in BUILT_IN:
        names = " or ".join(map(repr, BUILT_IN))
        raise places.error(
            None, "workers", f"workers is a built-in set, {names}; each worker of yours is a [[worker]]."
        )
    return BUILT_IN[name]()


def _files(table: AnyPlace, entry: Mapping[str, Any], folder: Path, places: _Places) -> Mapping[str, Path]:
    """The files of fitted baselines, or of planners, by name."""
    for name, path in entry.items():
        if not isinstance(path, str) or not _FITTED.fullmatch(name):
            raise places.fault(table, name, 'write NAME = "FILE", a name of letters, digits, - and _.')
    return {name: _whole_path(path, folder) for name, path in entry.items()}


class _Places:
    """The lines of keys. A place is None for the whole file."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines = lines_of(text)

    def error(
        self, place: AnyPlace | None, key: str, message: str, *, reason: str | None = None
    ) -> PoolError:
        """`message` with the file and the line of `key`, else of its table; `reason` is the message's end."""
        line = self._line(place, key)
        return PoolError(
            f"{self._source}, line {line}: {message}", line=line, key=key, reason=reason or message
        )

    def fault(self, place: AnyPlace, key: str, reason: str) -> PoolError:
        if isinstance(place, tuple):
            whose = f"[[tools]] {place[1] + 1}"
        else:
            whose = f"[{place}]" if isinstance(place, str) else f"worker {place + 1}"
        return self.error(place, key, f"{whose}, {key}: {reason}", reason=reason)

    def _line(self, place: AnyPlace | None, key: str) -> int:
        table = None if place is None else table_at(self._lines, place)
        start, end = (0, len(self._lines)) if table is None else (table.header, table.following)
        owner = (
            ""
            if place is None
            else r"""(?:\[\s*(?:worker|tools|conductor|embeddings|fitted|planners)\s*\.\s*)?"""
        )
        spelled = re.compile(rf"""\s*{owner}\[*\s*["']?{re.escape(key)}["']?\s*[\]=.]""")
        for at in range(start, end):
            if spelled.match(self._lines[at]) and ends_before(self._lines, start, at):
                return at + 1
        return start + 1


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        return toml_value(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+),", str(error))
        line = int(match[1]) if match else text.count("\n") + 1
        raise PoolError(f"{source} is not valid TOML: {error}.", line=line) from None
    except BoundsError as error:
        raise PoolError(f"{source} cannot be read: {error}; no table of a worker needs that.") from error


def _table(entry: Any, place: AnyPlace, read: Callable[[Any], T], places: _Places) -> T:
    try:
        table = read(entry)
    except ValidationError as error:
        key, message = faults(error, entry)[0]
        raise places.fault(place, key, message) from None
    for price, missing in (
        *permutations(("price_prompt", "price_completion")),
        ("price_cached", "price_prompt"),
    ):
        if getattr(table, price, None) is not None and getattr(table, missing) is None:
            raise places.fault(place, price, f"it needs {missing} too.")
    return table


def _check_names(
    tables: list[WorkerTable], ready: Sequence[str], conductor: ConductorEntry | None, places: _Places
) -> None:
    names = set(ready)
    if conductor is not None and conductor.as_worker:
        names.add(conductor.name)
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
            if following not in by_name:
                if len(chain) > 1:
                    break  # reported at the other worker
                names = ", ".join(by_name)
                raise places.fault(
                    index, "fallback", f"there is no worker named {following!r}; there are {names}."
                )
            if following in chain:
                circle = " → ".join([*chain, following])
                raise places.fault(
                    index, "fallback", f"{circle} is a circle; end it at a worker without a fallback."
                )
            chain.append(following)


def _fallback(table: WorkerTable) -> str | None:
    return table.fallback if isinstance(table, ModelTable) else None


def _with_tokenizer(table: WorkerTable, place: int, folder: Path, places: _Places) -> WorkerTable:
    """The table with the whole path of its tokenizer. Raises `PoolError` where that cannot be read."""
    if not isinstance(table, ModelTable) or table.tokenizer is None:
        return table
    path = _whole_path(table.tokenizer, folder)
    try:
        read_tokenizer(path)
    except PoolError as error:
        raise places.fault(place, "tokenizer", str(error)) from error
    return table.model_copy(update={"tokenizer": str(path)})


def _copy(table: WorkerTable | ConductorEntry, place: Place, folder: Path, places: _Places) -> dict[str, str]:
    """The whole path of a table's copy of the research code, by its key; empty where it names none.

    Raises `PoolError` where the texts cannot be read, and for a table in which they have no place.
    """
    if not isinstance(table, ModelTable | ConductorTable) or table.prompt_from is None:
        return {}
    if table.prompt_style != "research":
        raise places.fault(place, "prompt_from", 'it needs prompt_style = "research".')
    if isinstance(table, ConductorTable) and table.dialect != "binary":
        raise places.fault(place, "prompt_from", 'it needs dialect = "binary", which these texts describe.')
    path = _whole_path(table.prompt_from, folder)
    try:
        read_wording(path)
    except FormatError as error:
        raise places.fault(place, "prompt_from", str(error)) from error
    return {"prompt_from": str(path)}


def _with_folder(table: ConductorEntry, folder: Path, places: _Places) -> ConductorEntry:
    """The table with the whole path of a local model. Raises `PoolError` where that cannot be read."""
    if not isinstance(table, LocalConductorTable):
        return table
    path = SHIPPED.get(table.model) or _whole_path(table.model, folder)
    full_table = table.model_copy(update={"model": str(path)})
    try:
        full_table.build()
    except PoolError as error:
        raise places.fault("conductor", "model", str(error)) from error
    return full_table


_Entry = TypeVar("_Entry", WorkerTable, ConductorEntry, EmbeddingsEntry)
_EMBEDDED = EmbeddedTable | EmbeddedConductorTable | EmbeddedEmbeddingsTable


def _with_model(table: _Entry, folder: Path) -> _Entry:
    """The table with the whole path of its GGUF file, where it names one."""
    if not isinstance(table, _EMBEDDED) or table.model == SHIPPED_MODEL:
        return table
    return table.model_copy(update={"model": str(_whole_path(table.model, folder))})


@lru_cache(maxsize=4)
def named_files(text: str, folder: Path) -> tuple[Path, ...]:
    """The files that a pool file in the absolute `folder` names, there or not: tokenizers, GGUF files, a
    local Conductor's own, those with the texts of the research, planners; empty if it is no pool file.
    """
    try:
        document = toml_value(text)
    except ValueError:
        return ()
    entries, conductor = document.get("worker", []), document.get("conductor")
    tables = entries if isinstance(entries, list) else []
    named = [table.get("tokenizer") for table in tables if isinstance(table, dict)]
    files = [_whole_path(path, folder) for path in named if isinstance(path, str)]
    served = [table for table in (*tables, conductor, document.get("embeddings")) if isinstance(table, dict)]
    copies = {table["prompt_from"] for table in served if isinstance(table.get("prompt_from"), str)}
    files += [file for copy in copies for file in sources(_whole_path(copy, folder))]
    models = [table.get("model") for table in served if table.get("kind") == "embedded"]
    files += [_whole_path(path, folder) for path in models if isinstance(path, str) and path != SHIPPED_MODEL]
    if isinstance(conductor, dict) and conductor.get("kind") == "local":
        model = conductor.get("model")
        if isinstance(model, str) and model not in SHIPPED:
            files += [_whole_path(model, folder) / name for name in MODEL_FILES]
    planners = document.get("planners")
    learnt = planners.values() if isinstance(planners, dict) else ()
    files += [_whole_path(path, folder) for path in learnt if isinstance(path, str)]
    return tuple(files)


def _whole_path(path: str, folder: Path) -> Path:
    home, _, rest = path.partition("/")
    return (Path.home() / rest if home == "~" else folder / path).absolute()


def _built(table: WorkerTable | PlannerTable, place: Place, places: _Places) -> Any:
    try:
        return built(table)
    except PoolError as error:
        raise places.fault(place, "kind", str(error)) from error


def _tool_tables(entries: Any, places: _Places, pool: str) -> Mapping[str, ToolsTable]:
    """The servers of tools by name. Raises `PoolError`."""
    if not isinstance(entries, list):
        raise places.error(None, "tools", "write [[tools]] with two brackets, one table a server.")
    by_name: dict[str, ToolsTable] = {}
    for at, entry in enumerate(entries):
        place: ToolsPlace = ("tools", at)
        table = _table(entry, place, ToolsTable.model_validate, places).of(pool)
        if table.name in by_name:
            raise places.fault(place, "name", f"two servers are named {table.name!r}; name one differently.")
        by_name[table.name] = table
    return by_name


def _check_tools(tables: list[WorkerTable], tools: Mapping[str, ToolsTable], places: _Places) -> None:
    for at, table in enumerate(tables):
        for pattern in table.tools if isinstance(table, WithTools) else ():
            server = pattern.partition(":")[0]
            if server not in tools:
                there = f"there are {', '.join(tools)}" if tools else "add its table"
                raise places.fault(at, "tools", f"no [[tools]] table is named {server!r}; {there}.")


def _with_tools(worker: Worker, table: WorkerTable, tools: Mapping[str, ToolsTable], folder: Path) -> Worker:
    """The worker with the tools that its table names."""
    if not isinstance(table, WithTools) or not table.tools:
        return worker
    own = [tools[name] for name in dict.fromkeys(pattern.partition(":")[0] for pattern in table.tools)]
    return ToolWorker(
        worker,
        servers=tuple(each.server(folder) for each in own),
        patterns=table.tools,
        permissions=Permissions(
            never=frozenset(each.name for each in own if each.ask == "never"),
            first=frozenset(each.name for each in own if each.ask == "first"),
        ),
        rounds=table.tool_rounds,
    )


def _with_fallbacks(
    tables: list[WorkerTable], tools: Mapping[str, ToolsTable], folder: Path, places: _Places
) -> tuple[Worker, ...]:
    """The workers. A fallback is the same object as the worker of that name, so both share its limits."""
    by_name = {table.name: table for table in tables}
    alone: dict[str, Worker] = {
        table.name: _with_tools(_built(table, at, places), table, tools, folder)
        for at, table in enumerate(tables)
    }

    def whole(name: str) -> Worker:
        second = _fallback(by_name[name])
        return alone[name] if second is None else FallbackWorker(alone[name], whole(second))

    return tuple(whole(table.name) for table in tables)


# -- the lines of a text, which must be valid TOML -----------------------------------------------------


class TomlTable(NamedTuple):
    """A top-level table with its inner tables, as positions in the lines of the text, from 0.

    The comment right above it begins at `first`, its header is at `header`. Its last value ends before `end`,
    the comment right below that before `tail`, and the next table's header is at `following`.
    """

    name: str
    first: int
    header: int
    end: int
    tail: int
    following: int


def lines_of(text: str) -> list[str]:
    return re.split(r"(?<=\n)", text)


def tables_in(lines: Sequence[str]) -> list[TomlTable]:
    """The tables in order. A comment that begins the text belongs to the text, not to the first table."""
    headers = [(at, name) for at, name, inner in _headers(lines) if not inner]
    ends = [*(at for at, _ in headers[1:]), len(lines)]
    tables = []
    for (header, name), following in zip(headers, ends, strict=False):
        first = header
        while first and _is_comment(lines[first - 1]):
            first -= 1
        end = following
        while end > header + 1 and (_is_comment(lines[end - 1]) or not lines[end - 1].strip()):
            end -= 1
        tail = end
        while tail < len(lines) and _is_comment(lines[tail]):
            tail += 1
        if tail < len(lines) and lines[tail].strip():
            tail = end  # this comment is the next table's
        tables.append(TomlTable(name, first or header, header, end, tail, following))
    return tables


def table_at(lines: Sequence[str], place: AnyPlace) -> TomlTable | None:
    """The table at that place, or None if it is not written as a table."""
    name, at = (
        (place, 0) if isinstance(place, str) else ("worker", place) if isinstance(place, int) else place
    )
    own = [table for table in tables_in(lines) if table.name == name]
    return own[at] if at < len(own) else None


def ends_before(lines: Sequence[str], start: int, at: int) -> bool:
    """Whether a statement ends before line `at`; false inside a text or a list of several lines.

    `start` is an earlier line that begins a statement.
    """
    return _parsed(lines[start:at]) is not None


def _headers(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The line of each header, the first part of its name, and whether it is of an inner table."""
    start = 0
    for at, line in enumerate(lines):
        own = _parsed([line]) if line.lstrip().startswith("[") and ends_before(lines, start, at) else None
        for name, table in (own or {}).items():
            start = at
            yield at, name, table not in ({}, [{}])


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """The values in these lines, or None if the lines are not valid TOML without the others."""
    try:
        return toml_value("".join(lines))
    except ValueError:
        return None


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
