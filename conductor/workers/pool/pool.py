"""A pool: the numbered workers a Conductor may choose from, from a TOML file or a built-in set.

Knows how workers are configured, not how they answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from conductor.drawing.marks import Colour
from conductor.errors import PoolError, ToolError
from conductor.files.named_file import read_whole
from conductor.files.project_folder import new_pool_file, pool_place
from conductor.own_settings import setting
from conductor.runs.state import RunState
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.output import KIND_LABELS, SMALL_CONDUCTOR, WorkerKind
from conductor.workers.computed import computed_workers
from conductor.workers.endpoint.embeddings import EmbeddingClient
from conductor.workers.orchard.skills import orchard_workers
from conductor.workers.pool.built_in import EMBEDDINGS, built_in_file, built_in_workers
from conductor.workers.pool.fallback import chain, limited_worker
from conductor.workers.pool.kinds import ConductorEntry, EmbeddingsEntry
from conductor.workers.pool.schema import EmbeddedConductorTable, LocalConductorTable
from conductor.workers.pool.table import PlannerTable
from conductor.workers.pool.toml_file import read_tables
from conductor.workers.protocol import Worker, WorkerCard
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.permissions import RecordedResults
from conductor.workers.tools.tool_server import ToolServer
from conductor.workers.tools.tool_worker import ToolWorker, each_worker
from conductor.workflow.model import Workflow

HERE = Path()
"""The folder that the program was started in."""


@dataclass(frozen=True)
class Pool:
    """Workers in the order in which a Conductor numbers them, from 0. Raises `PoolError` on bad names.

    A step may also name one of `computed_workers`, which have no number: `names` and `workers` leave them
    out, `cards`, `identities` and `pool[name]` know them. `conductor` plans for them, `embeddings` turns
    texts into vectors; None if the file names none. `fitted` holds the files of fitted baselines by name,
    `planners` those of planners that learnt, and `planner` is the one that plans, if the file chooses one;
    `colours` are those that the file chooses for workers, `tool_servers` all servers that it names.
    """

    workers: tuple[Worker, ...]
    conductor: ConductorEntry | None = None
    embeddings: EmbeddingsEntry | None = None
    fitted: Mapping[str, Path] = field(default_factory=dict)
    colours: Mapping[str, Colour] = field(default_factory=dict)
    planners: Mapping[str, Path] = field(default_factory=dict)
    planner: str | None = None
    tool_servers: tuple[ToolServer, ...] = ()

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
        return tuple(worker.card.name for worker in self.workers)

    @cached_property
    def cards(self) -> Mapping[str, WorkerCard]:
        """By name, of every worker that a step may name."""
        return {
            name: worker.card.model_copy(update={"colour": self.colours[name]})
            if name in self.colours
            else worker.card
            for name, worker in self._by_name.items()
        }

    @cached_property
    def identities(self) -> Mapping[str, str]:
        return {name: card.identity for name, card in self.cards.items()}

    @cached_property
    def unusable(self) -> Mapping[str, str]:
        """The reason, by name, for each worker that cannot be called with the present settings."""
        return {name: card.unusable for name, card in self.cards.items() if card.unusable is not None}

    @cached_property
    def _by_name(self) -> Mapping[str, Worker]:
        own = {worker.card.name: worker for worker in self.workers}
        computed = computed_workers(self.embedding_client)
        return own | {name: each for name, each in computed.items() if name not in own}

    @cached_property
    def embedding_client(self) -> EmbeddingClient | None:
        return None if self.embeddings is None else self.embeddings.build()

    @cached_property
    def tools(self) -> Mapping[str, tuple[str, ...]]:
        """What each worker that may call tools has of them, as the pool file names them."""
        return {name: card.tools for name, card in self.cards.items() if card.tools}

    @cached_property
    def _tool_places(self) -> Mapping[str, tuple[ToolConnections, ToolServer]]:
        """The servers of its workers' tools by name, each with the connections by which it is reached."""
        own = [each for worker in self.workers for each in chain(worker) if isinstance(each, ToolWorker)]
        return {server.name: (each.connections, server) for each in own for server in each.servers}

    @property
    def calls_tools(self) -> bool:
        """Whether a worker, or a fallback of one, may call tools."""
        return bool(self._tool_places)

    def tool_version(self, name: str) -> str | None:
        """The name and version that the tool server of this name reports, as far as is known now."""
        if name not in self._tool_places:
            return None
        places, server = self._tool_places[name]
        return places.version(server)

    async def look_at_tools(self, names: Iterable[str]) -> None:
        """Have the tool servers of these names report their versions, where they have not yet; one that does
        not start is passed over.
        """
        unknown = [each for name, each in self._tool_places.items() if name in names]
        async with asyncio.TaskGroup() as group:
            for places, server in unknown:
                if places.version(server) is None:
                    group.create_task(_listed(places, server))

    def only(self, names: Collection[str]) -> Pool:
        """The pool without its other workers, also where they are fallbacks. Raises `PoolError` if none is
        left.
        """
        own = (worker for worker in self.workers if worker.card.name in names)
        return replace(self, workers=tuple(limited_worker(worker, names) for worker in own))

    @cached_property
    def without_fallbacks(self) -> Pool:
        """The pool whose workers answer for themselves."""
        return replace(self, workers=tuple(chain(worker)[0] for worker in self.workers))

    def permitting(self, allows: tuple[str, ...], grants: tuple[str, ...]) -> Pool:
        """The pool whose tools may do what these patterns name; see `Permissions`."""
        return self._permitted(allows=allows, grants=grants) if allows or grants else self

    def recording(self, uses: Iterable[ToolUse], *, only: bool) -> Pool:
        """The pool whose workers get the results of these calls where they make them again, the first of
        equal ones; `only`: no other call is made.
        """
        recorded = RecordedResults.of(uses, only=only)
        return self._changed(lambda own: replace(own, recorded=recorded))

    def acting_after(self, stored: Callable[[], Awaitable[None]]) -> Pool:
        """The pool whose tools act once `stored` has returned; see `ToolWorker`."""
        return self._changed(lambda own: replace(own, stored=stored))

    def with_tools(self, patterns: tuple[str, ...]) -> Pool:
        """The pool whose workers may call no other tools than those that these patterns name."""
        return self._permitted(limit=patterns)

    @cached_property
    def unattended(self) -> Pool:
        """The pool for runs in which no person is asked whether a tool may act."""
        return self._permitted(attended=False)

    def _permitted(self, **permissions: Any) -> Pool:
        return self._changed(lambda own: replace(own, permissions=replace(own.permissions, **permissions)))

    def _changed(self, change: Callable[[ToolWorker], ToolWorker]) -> Pool:
        if not self.calls_tools:
            return self

        def changed(own: Worker) -> Worker:
            return change(own) if isinstance(own, ToolWorker) else own

        return replace(self, workers=tuple(each_worker(worker, changed) for worker in self.workers))

    def __getitem__(self, name: str) -> Worker:
        """The worker of that name. Raises `PoolError` when there is none."""
        try:
            return self._by_name[name]
        except KeyError:
            names = ", ".join(self.names)
            raise PoolError(
                f"The pool has no worker named {name!r}; it has {names}. Name one of these."
            ) from None

    @property
    def label(self) -> str | None:
        """The warning to show wherever this pool's output is shown; None when served models answer."""
        return self._label_of(self.names, ())

    def label_of(self, workflow: Workflow, state: RunState | None = None) -> str | None:
        """The same for a run: of the workers that answered in it, inside steps, too; of those of the
        steps if none did. Names that the pool does not have are passed over.
        """
        return self._label_of([step.worker for step in workflow.steps], () if state is None else state.kinds)

    def _label_of(self, names: Iterable[str], answered: Collection[WorkerKind]) -> str | None:
        kinds = {*answered} or {self.cards[name].kind for name in names if name in self.cards}
        if "model" in kinds:
            return None
        kind: WorkerKind = next(
            (kind for kind in KIND_LABELS if kind in kinds and kind != "offline"), "offline"
        )
        if isinstance(self.conductor, PlannerTable):
            return f"{kind} workers; the Conductor is of an installed package"
        if self.conductor is not None and kind != "embedded":
            small = isinstance(self.conductor, LocalConductorTable | EmbeddedConductorTable)
            return f"{kind} workers; {SMALL_CONDUCTOR if small else 'only the Conductor is a model'}"
        return KIND_LABELS[kind]


async def _listed(places: ToolConnections, server: ToolServer) -> None:
    with suppress(ToolError):
        await places.tools(server)


def built_in_pool() -> Pool:
    """The pool that is used if nothing is configured: the built-in set."""
    return Pool(workers=built_in_workers(), embeddings=EMBEDDINGS["built-in"])


def orchard_pool() -> Pool:
    """The pool of the orchard: see `conductor.orchard`."""
    return Pool(workers=orchard_workers())


def configured_path(path: Path | None = None) -> Path | None:
    """The pool file in use: `path`, else `CONDUCTOR_POOL`, else that of `pool_place`; None: there is none."""
    if path is not None:
        return path
    if named := setting("CONDUCTOR_POOL"):
        return Path(named)
    place = pool_place()
    return None if place is None else place.path


def path_to_write(path: Path | None = None) -> Path:
    """The pool file in use (see `configured_path`), else `new_pool_file`."""
    return configured_path(path) or new_pool_file()


def configured_pool(path: Path | None = None) -> Pool:
    """The pool of the file in use (see `configured_path`), else the built-in one. Raises `PoolError`."""
    configured = configured_path(path)
    return built_in_pool() if configured is None else read_pool(configured)


def read_pool(path: Path) -> Pool:
    """The pool a TOML file describes, or the built-in set of that name. Raises `PoolError` naming the file
    and the line.

    A worker whose key is missing is in the pool, and its card is marked unusable.
    """
    text, pool = built_in_file(path), ""
    if text is None:
        text, pool = read_whole(path), str(path.resolve())
    if text is None:
        raise PoolError(
            f"The pool file {path} cannot be read: No such file or directory. Name another one, or none at "
            "all for the built-in workers."
        )
    return parse_pool(text, source=str(path), folder=path.parent, pool=pool)


def parse_pool(text: str, *, source: str = "the pool file", folder: Path = HERE, pool: str = "") -> Pool:
    """The pool this TOML text describes: `[[worker]]` tables in order. Raises `PoolError`.

    Files that a table names are looked for in `folder`. `pool` is the whole path of the file with this text:
    what a person confirmed for it counts.
    """
    tables = read_tables(text, source=source, folder=folder, pool=pool)
    return Pool(**tables._asdict())
