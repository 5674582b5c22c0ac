"""A process on a machine of the cluster that answers an evaluation's items: an engine inside an actor.

Has a workbench of its own on the shared store, with the machine's own copy of the pool, and its keys. What it
is sent and what it returns are values without secrets. Knows no Ray.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event as Flag

from conductor.errors import ConductorError
from storage.store import SessionStore, default_url
from studio.composition import open_workbench
from studio.evaluation.crew import Part, Unit
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench

DEATH_SECONDS = 60.0
"""How long a run of a process that was lost may go on: PostgreSQL notices a machine without power in some
twenty seconds.
"""


def own_version() -> str:
    """Of the program that runs here; nothing where it was not installed."""
    try:
        return version("conductor-studio")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Brief:
    """What each process is sent. `pool` is a path on its machine, or a built-in one; `database` is None where
    the machine's environment names the store; `usable` are the workers that must be usable there.
    """

    evaluation: str
    pool: str
    database: str | None
    version: str
    usable: tuple[str, ...]


class Answerer:
    """Made on the machine; nothing is opened before `begin`."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._stop = Flag()
        self._bench: Workbench | None = None

    def begin(self) -> str | None:
        """Open what is needed; why that cannot be used, None where it can."""
        try:
            here, asked = own_version() or "unknown", self._brief.version or "unknown"
            if here != asked:
                return self._here(f"this program has version {here}, not {asked}.")
            if self._brief.database is None and not _names_postgres():
                return self._here("CONDUCTOR_DATABASE_URL does not name the store there.")
            self._bench = open_workbench(pool=Path(self._brief.pool), database=self._brief.database)
            self._bench.store.evaluations.find(self._brief.evaluation)
            missing = _unusable(self._bench.pool.unusable, self._brief.usable)
            return None if missing is None else self._here(missing)
        except ConductorError as error:
            return self._here(str(error))

    def answer(self, units: Sequence[Unit], *, again: bool) -> Part:
        """Answer what is missing of these units; `again`: another process was lost that had begun them."""
        assert self._bench is not None, "begin comes first"
        try:
            if again:
                _await_ends(self._bench.store, self._brief.evaluation, units)
            return Evaluations(self._bench).answer(self._brief.evaluation, units, stop=self._stop)
        except ConductorError as error:
            return Part(failure=self._here(str(error)))

    def stop(self) -> None:
        """Begin nothing more, and stop what is under way."""
        self._stop.set()

    def _here(self, reason: str) -> str:
        return f"On the machine {platform.node()} of the Ray cluster: {reason}"


def _names_postgres() -> bool:
    return default_url().startswith("postgres")


def _unusable(here: Mapping[str, str], usable: Sequence[str]) -> str | None:
    """Why a worker that must be usable is not, where one is not."""
    return next((f"{name}: {here[name]}" for name in usable if name in here), None)


def _await_ends(store: SessionStore, evaluation: str, units: Sequence[Unit]) -> None:
    """Wait until what a lost process ran of these units has ended, so that it can be answered here."""
    end = time.monotonic() + DEATH_SECONDS
    asked = set(units)
    while True:
        store.processes.mark_interrupted()
        begun = [
            store.runs.latest(cell.answered_in)
            for cell in store.evaluations.cells(evaluation)
            if cell.result is None and (cell.item, cell.repeat) in asked
        ]
        if time.monotonic() > end or not any(run is not None and run.status == "running" for run in begun):
            return
        time.sleep(0.5)
