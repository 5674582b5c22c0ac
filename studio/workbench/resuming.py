"""Going on by itself with a run whose process ended: which runs do, and with what.

Knows sessions and the pool of this process; begins nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from itertools import dropwhile, takewhile
from typing import NamedTuple

from conductor.engine.continuation import resumed
from conductor.engine.schedule import blast_radius
from conductor.errors import PoolError, StorageError, WorkflowError
from conductor.orchestration.rounds import bound_to
from conductor.own_settings import setting
from conductor.runs.request import Asker, RunRequest
from conductor.runs.scope import RunScope
from conductor.values.output import Output
from storage.records import Revision, RunRecord
from studio.sessions.recorder import known_outputs
from studio.workbench.bench import Bench
from studio.workbench.running import Running

VARIABLE = "CONDUCTOR_RESUME"

MOST = 3
"""How often in a row a session's runs go on by themselves."""

SOON = 5.0
"""Seconds within which a run goes on that another process finds interrupted."""

LOOKED_BACK = 3600.0
"""Seconds in which a run wrote its last event that a process takes which starts now."""


def resumes_by_itself() -> bool:
    """Whether this process goes on with runs of processes that ended; on, unless the variable is off. Raises
    `StorageError` for any other setting.
    """
    value = setting(VARIABLE) or "on"
    if value not in ("on", "off"):
        raise StorageError(f"{VARIABLE} is {value[:40]!r}; write on, or off.")
    return value == "on"


class Resumed(NamedTuple):
    """What goes on with a run: its request, and what `SessionRunner.begin_run` takes."""

    request: RunRequest
    revision: Revision
    scope: RunScope
    preloaded: dict[int, Output]


class Resuming:
    """Going on by itself with runs of processes that ended."""

    def __init__(self, bench: Bench, running: Running) -> None:
        self._bench = bench
        self._running = running

    def due(self, runs: Collection[str] | None = None) -> tuple[RunRecord, ...]:
        """Of these runs (None: of the last hour's) the ones that go on by themselves, because their process
        ended and a person neither stopped them nor went on since.
        """
        store, since = self._bench.store, time.time() - LOOKED_BACK
        return tuple(
            run
            for run in store.runs.broken_off(since, runs)
            if not store.processes.lives(run.owner)
            and self._interrupted(run) <= MOST
            and (runs is not None or self._last_at(run) >= since)
        )

    def work(self, run: RunRecord) -> Resumed | None:
        """What goes on with a run that is due, for its asker; None if its beginning is not known."""
        state = self._bench.state(run)
        revision = self._bench.store.revisions.find(run.revision)
        # What a client sends is run whole; a person may have chosen a part.
        is_whole = run.parent is None and self._bench.store.sessions.find(run.session).origin == "api"
        if state.workflow is None and not is_whole:
            return None
        scope = resumed(state, revision.workflow, resumption=self._interrupted(run))
        only = scope.kind == "only"
        preloaded = self._running.last_outputs(run.session, revision.workflow) if only else {}
        request = replace(self._bench.request(run.session), by=Asker(token=run.token, person=run.person))
        return Resumed(request, revision, scope, preloaded)

    def can_run(self, run: RunRecord, work: Resumed) -> bool:
        """Whether the pool of this process has the workers that are called, and calls no finished step again,
        as one would whose worker of a name is another model.
        """
        request, revision, scope, preloaded = work
        bench = self._bench
        after = None if revision.looks_back is None else bench.store.runs.state(revision.looks_back)
        try:
            bound, pool = bound_to(request, revision.workflow, bench.pool, after=after)
        except (PoolError, WorkflowError):
            return False
        offered = set(request.settings.workers or ())
        reusable = known_outputs(bench.store, run.session)
        called = blast_radius(None, bound, reusable, scope=scope, preloaded=preloaded).runs
        needed = {name for step in called for name in revision.workflow.steps[step].workers}
        return (
            called.isdisjoint(scope.done)
            and needed <= pool.cards.keys() - pool.unusable.keys()
            and offered <= pool.cards.keys()
        )

    def _last_at(self, run: RunRecord) -> float:
        """When the process of a run last wrote of it; its end may have been written long after."""
        *_, last = (run.started_at, *(event.at for event in self._bench.store.runs.events(run.id)[:-1]))
        return last

    def _interrupted(self, run: RunRecord) -> int:
        """How many runs of the session in a row ended with their process, this one the last of them."""
        # Another process may have gone on with it since it was found to be due.
        runs = dropwhile(lambda one: one.id != run.id, self._bench.store.runs.of_session(run.session))
        return sum(1 for _ in takewhile(lambda one: one.status == "interrupted", runs))
