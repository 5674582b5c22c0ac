"""The base of every table of a pool file, also of one of a kind that an installed package adds.

Knows neither the kinds nor the file.
"""

from __future__ import annotations

from abc import abstractmethod
from inspect import isabstract
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr

from conductor.drawing.marks import Colour
from conductor.errors import ConductorError, PoolError
from conductor.plugins import fault_of
from conductor.values.messages import Value
from conductor.workers.protocol import Worker


class Label(NamedTuple):
    """How a form names a key: its `title`, one sentence of `help`, and an example or what `unset` means.

    Where the key has a default, the default is what `unset` means.
    """

    title: str
    help: str = ""
    unset: str = ""


WorkerName = Annotated[str, Field(min_length=1), Label("Name", "Steps use this name. It must be unique.")]


class PoolTable(Value):
    # Values are not repeated: a person may have pasted a key in the place of its variable's name.
    model_config = ConfigDict(hide_input_in_errors=True)

    _pool: str = PrivateAttr(default="")

    def of(self, pool: str) -> Self:
        """The table as the one of the pool file at that whole path."""
        table = self.model_copy()
        table._pool = pool
        return table


class WorkerTable(PoolTable):
    """A `[[worker]]` table; each kind, also one of another package, is a subclass with its own keys."""

    kind: str
    name: WorkerName
    colour: Annotated[
        Colour | None,
        Label("Colour", "On cards, edges and bars.", "by its name"),
    ] = None

    @abstractmethod
    def build(self) -> Worker:
        """The worker, whose card has the table's name. Raises `PoolError`."""


class PlannerTable(PoolTable):
    """The `[conductor]` table of a Conductor of another package, a subclass with its own keys."""

    as_worker: ClassVar[bool] = False

    kind: str
    name: Annotated[str, Field(min_length=1), Label("Name", "Its name.")] = "conductor"

    @abstractmethod
    def build(self) -> Any:
        """The planner, as `conductor.planner.conductor.Conductor` describes it. Raises `PoolError`."""


def built(table: WorkerTable | PlannerTable) -> Any:
    """What the table describes. Raises `PoolError`, also for any error that code of other packages raises."""
    try:
        actor = table.build()
        if actor.card.name == table.name and callable(actor.stream):
            return actor
        reason = f"its card has the name {actor.card.name!r}, not {table.name!r}"
    except ConductorError:
        raise
    except Exception as error:  # noqa: BLE001 - the code of others may raise anything
        reason = fault_of(error)
    raise PoolError(f"the kind {table.kind!r} of an installed package makes nothing that works: {reason}.")


def subclass_fault(base: type[PoolTable], kind: object) -> str | None:
    """What keeps an object from being the kind of a table, or None."""
    if isinstance(kind, type) and issubclass(kind, base):
        return "it has no method build" if isabstract(kind) else None
    return f"it is not a subclass of conductor.workers.pool.table.{base.__name__}"
