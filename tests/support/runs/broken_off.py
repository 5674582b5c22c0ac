"""Runs whose process died in the middle, as another process on the same store sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.request import Asker
from conductor.runs.scope import RunScope
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.workbench import Workbench
from tests.support.runs.waiting import until

STEPS = Workflow.of(
    [Step(instruction="Find it.", worker="quick"), Step(instruction="Write it.", worker="late", access=(0,))]
)
LATE = SimulatedWorker(name="late")
QUICK = SimulatedWorker(name="quick")


@contextmanager
def opened(url: str, *workers: Worker, by: Asker | None = None) -> Iterator[Workbench]:
    """A workbench with these workers, or with both."""
    pool = Pool(workers=workers or (QUICK, LATE))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())
    try:
        yield bench if by is None else bench.on(lambda: bench.runner.runtime, by=by)
    finally:
        bench.close()


@contextmanager
def dying(url: str, monkeypatch: pytest.MonkeyPatch, *, by: Asker | None = None) -> Iterator[Workbench]:
    """A workbench whose process has died as others see it: it takes no lock. Its worker "late" never ends."""
    with monkeypatch.context() as patched:
        for kind in ("FileLock", "ServerLock"):
            patched.setattr(f"storage.database.owner_lock.{kind}.hold", lambda _: None)
        with opened(url, QUICK, SimulatedWorker(name="late", latency=3600.0), by=by) as bench:
            yield bench
            SessionStore.open(url).close()


def broken_off(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    settings: Settings | None = None,
    scope: RunScope | None = None,
    session: str | None = None,
    by: Asker | None = None,
) -> str:
    """A session, or this one, whose run has finished its first step, and whose process died in the second."""
    with dying(url, monkeypatch, by=by) as bench:
        if session is None:
            session = bench.ask("Which one?", settings=settings).id
            bench.store.revisions.add(session, STEPS, origin="human")
        live = bench.running.start(session, scope)
        until(lambda: live.state.steps and live.state.steps[1].status == "running")
    return session
