"""A pool: the numbered workers a Conductor may choose from, from a TOML file or by default offline.

Knows how workers are configured, not how they answer.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from conductor.errors import PoolError
from conductor.messages import Value
from conductor.workers.offline import EXPERTS, ExpertName, offline_expert, offline_workers
from conductor.workers.protocol import Worker, WorkerCard
from conductor.workers.simulated import SimulatedWorker

OFFLINE_LABEL = "offline, no model is called"
SIMULATED_LABEL = "simulated, no model is called"


@dataclass(frozen=True)
class Pool:
    """Workers in the order in which a Conductor numbers them, from 0. Raises `PoolError` on bad names."""

    workers: tuple[Worker, ...]

    def __post_init__(self) -> None:
        if not self.workers:
            raise PoolError("The pool has no worker; add at least one [[worker]].")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise PoolError(f"Two workers of the pool are named {name!r}; give each its own name.")
            seen.add(name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(worker.card.name for worker in self.workers)

    @cached_property
    def cards(self) -> Mapping[str, WorkerCard]:
        """Cards by name, in order."""
        return {worker.card.name: worker.card for worker in self.workers}

    @cached_property
    def _by_name(self) -> Mapping[str, Worker]:
        return {worker.card.name: worker for worker in self.workers}

    def __getitem__(self, name: str) -> Worker:
        """The worker of that name. Raises `PoolError` when there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self.names)
            raise PoolError(
                f"The pool has no worker named {name!r}; it has {known}. Give the step one of these."
            ) from None

    @property
    def label(self) -> str | None:
        """What must be said wherever this pool's output is shown; None when models answer."""
        kinds = {worker.card.kind for worker in self.workers}
        if "model" in kinds:
            return None
        return OFFLINE_LABEL if kinds == {"offline"} else SIMULATED_LABEL


def offline_pool() -> Pool:
    """The pool used where nothing is configured: the built-in experts."""
    return Pool(workers=offline_workers())


def configured_pool(path: Path | None = None) -> Pool:
    """The pool of `path`, else of `CONDUCTOR_POOL`, else of `pool.toml` here, else the offline pool."""
    named = path or (Path(os.environ["CONDUCTOR_POOL"]) if os.environ.get("CONDUCTOR_POOL") else None)
    if named is not None:
        return read_pool(named)
    return read_pool(Path("pool.toml")) if Path("pool.toml").exists() else offline_pool()


def read_pool(path: Path) -> Pool:
    """The pool a TOML file describes. Raises `PoolError` naming the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PoolError(f"The pool file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise PoolError(f"The pool file {path} cannot be read: it is not text in UTF-8.") from error
    return parse_pool(text, source=str(path))


class _OfflineEntry(Value):
    kind: Literal["offline"]
    name: str = Field(min_length=1)
    expert: ExpertName

    def build(self) -> Worker:
        return offline_expert(self.expert, name=self.name)


class _SimulatedEntry(Value):
    kind: Literal["simulated"]
    name: str = Field(min_length=1)
    strengths: str = "made-up text at a chosen pace"
    latency: float = Field(default=0.0, ge=0, description="seconds to the first token")
    tokens: int = Field(default=40, ge=0)
    tokens_per_second: float | None = Field(default=None, gt=0)
    seed: int = 0
    answer: str | None = None
    fail_on: str | None = None

    def build(self) -> Worker:
        return SimulatedWorker(**self.model_dump(exclude={"kind"}))


_ENTRY: TypeAdapter[_OfflineEntry | _SimulatedEntry] = TypeAdapter(
    Annotated[_OfflineEntry | _SimulatedEntry, Field(discriminator="kind")]
)


def parse_pool(text: str, *, source: str = "the pool file") -> Pool:
    """The pool this TOML text describes: `[[worker]]` tables in order. Raises `PoolError`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PoolError(f"{source} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise PoolError(f"{source} nests brackets too deeply; a worker's table needs none.") from error
    except ValueError as error:
        raise PoolError(f"{source} holds a number with too many digits; write a shorter one.") from error
    for key in document:
        if key != "worker":
            raise PoolError(f"{source}, line {_line(text, key)}: unknown key {key!r}; use [[worker]] tables.")
    entries = document.get("worker", [])
    if not isinstance(entries, list):
        raise PoolError(f"{source}: write [[worker]] with two brackets, one table a worker.")
    if not entries:
        raise PoolError(f"{source} has no worker; add at least one [[worker]] table.")
    names: set[str] = set()
    workers = []
    for index, entry in enumerate(entries):
        worker = _build(entry, index, text=text, source=source)
        if worker.card.name in names:
            raise PoolError(
                f"{source}, line {_line(text, 'name', index)}: a second worker is named "
                f"{worker.card.name!r}; give each its own name."
            )
        names.add(worker.card.name)
        workers.append(worker)
    return Pool(workers=tuple(workers))


def _build(entry: object, index: int, *, text: str, source: str) -> Worker:
    try:
        return _ENTRY.validate_python(entry, strict=False).build()
    except ValidationError as error:
        reason = error.errors(include_url=False, include_input=False)[0]
        path = [str(part) for part in reason["loc"] if part not in ("offline", "simulated")]
        key = path[0] if path else "kind"
        said = "unknown key" if reason["type"] == "extra_forbidden" else reason["msg"]
        if reason["type"].startswith("union_tag"):
            said = 'needs kind = "offline" or kind = "simulated"'
        where = f"{source}, line {_line(text, key, index)}"
        known = f" Experts: {', '.join(EXPERTS)}." if key == "expert" else ""
        raise PoolError(f"{where}: worker {index + 1}, {key}: {said}.{known}") from error


def _line(text: str, key: str, index: int | None = None) -> int:
    """The line (from 1) where `key` stands, in the `index`-th [[worker]] table when given."""
    lines = list(enumerate(text.splitlines(), start=1))
    tables = [number for number, line in lines if re.match(r"\s*\[\[\s*worker\s*\]\]", line)]
    first = tables[index] if index is not None and index < len(tables) else 0
    spelled = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[\]=.]""")
    return next((number for number, line in lines if number > first and spelled.match(line)), max(first, 1))
