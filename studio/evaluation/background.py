"""Evaluations in the background of a server: one at a time, the others wait in line.

An evaluation needs no page that looks at it; any thread may ask how far it is, and stop it. Knows what is
under way in this process; what was done is in the store, and one whose process ended is begun again from
there.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from threading import Lock
from typing import Literal

from conductor.errors import ConductorError, DataError
from conductor.orchestration.runtime import runtime_of
from conductor.runs.request import Asker
from conductor.values.budget import Budget
from conductor.workers.pool.built_in import BUILT_IN
from conductor.workers.pool.pool import configured_pool
from storage.records import EvaluationRecord
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.evaluation_run import NOT_ALL, STOPPED, Progress
from studio.workbench import Workbench

State = Literal["waiting", "running", "elsewhere", "interrupted", "stopped", "incomplete", "done"]
"""`waiting` in line; `elsewhere`: another process runs it; `interrupted`: its process ended; `stopped`: there
is a reason why not all was asked; `incomplete`: all was asked, and some of it has no verdict.
"""

_log = logging.getLogger(__name__)


@dataclass
class _Live:
    stop: Flag = field(default_factory=Flag)
    progress: Progress | None = None
    work: Future[None] | None = None


class BackgroundEvaluations:
    """The evaluations of one workbench that this process runs, in the order in which they were begun: each on
    the workbench's pool or on a built-in one, as it was begun.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._built_in: dict[str, Workbench] = {}
        self._line = ThreadPoolExecutor(1, thread_name_prefix="evaluations")
        self._live: dict[str, _Live] = {}
        self._lock = Lock()

    def on(self, pool: str | None) -> Workbench:
        """The workbench with the built-in pool of that name; None: with its own. Raises `PoolError`."""
        if pool is None:
            return self._bench
        if pool not in self._built_in:
            runtime = runtime_of(configured_pool(Path(pool)))
            self._built_in[pool] = self._bench.on(lambda: runtime)
        return self._built_in[pool]

    def _bench_of(self, record: EvaluationRecord) -> Workbench:
        """The workbench with the pool of the evaluation; without one the own one, which refuses it."""
        benches = [self._bench, *(self.on(name) for name in BUILT_IN)]
        return next((each for each in benches if Evaluations(each).fits(record.spec)), self._bench)

    def begin(self, evaluation: str, *, budget: Budget | None = None, by: Asker | None = None) -> None:
        """Answer what is missing, once those before it have ended; returns at once. `budget` replaces the
        evaluation's own; `by` is who asks, None: who asks on the workbench. Raises `DataError` where it is
        under way already.
        """
        record = self._bench.store.evaluations.find(evaluation)
        with self._lock:
            if self.state(record) in ("waiting", "running", "elsewhere"):
                raise DataError("This evaluation is under way already; wait for its end, or stop it first.")
            self._bench.store.evaluations.set_end(evaluation, ended_at=None)
            live = self._live[evaluation] = _Live()
            live.work = self._line.submit(self._run, evaluation, live, budget, by or self._bench.asker)

    def stop(self, evaluation: str) -> None:
        """Stop it, or take it out of the line; what was answered is kept. Nothing for one that has ended."""
        live = self._live.get(evaluation)
        if live is None:
            return
        live.stop.set()
        if live.work is not None and live.work.cancel():
            self._end(evaluation, STOPPED)
            self._forget(evaluation)

    def progress(self, evaluation: str) -> Progress | None:
        """How far it is; None before its first answer, and where this process does not run it."""
        live = self._live.get(evaluation)
        return None if live is None else live.progress

    def state(self, record: EvaluationRecord) -> State:
        """What goes on with it."""
        live = self._live.get(record.id)
        if live is not None:
            return "running" if live.work is None or live.work.running() else "waiting"
        if record.ended_at is not None:
            if record.reason is None:
                return "done"
            return "incomplete" if record.reason.startswith(NOT_ALL) else "stopped"
        return "elsewhere" if self._runs_elsewhere(record) else "interrupted"

    def close(self) -> None:
        """Stop all of it; returns once nothing uses the workbench."""
        with self._lock:
            for live in self._live.values():
                live.stop.set()
        self._line.shutdown(wait=True, cancel_futures=True)

    def _runs_elsewhere(self, record: EvaluationRecord) -> bool:
        """Whether a run of one of its answers is under way; the runs of a process that ended are not."""
        cells = self._bench.store.evaluations.cells(record.id)
        runs = [self._bench.store.runs.latest(each.answered_in) for each in cells if each.open]
        return any(run is not None and run.status == "running" for run in runs)

    def _run(self, evaluation: str, live: _Live, budget: Budget | None, by: Asker) -> None:
        def listen(progress: Progress) -> None:
            live.progress = progress

        try:
            bench = self._bench_of(self._bench.store.evaluations.find(evaluation))
            bench = bench.on(bench.runner.runtimes, by=by)
            Evaluations(bench).run(evaluation, listen=listen, stop=live.stop, budget=budget)
        except ConductorError as error:
            self._end(evaluation, str(error))
        except Exception:
            _log.exception("an evaluation broke")
            self._end(evaluation, "The program failed; its log has the error. What was answered is kept.")
            raise
        finally:
            self._forget(evaluation)

    def _end(self, evaluation: str, reason: str) -> None:
        self._bench.store.evaluations.set_end(evaluation, ended_at=time.time(), reason=reason)

    def _forget(self, evaluation: str) -> None:
        with self._lock:
            self._live.pop(evaluation, None)
