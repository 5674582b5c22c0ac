"""Runs whose state is kept in memory: how many, also where many threads read at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.runs.state import RunState
from conductor.workers.pool.pool import Pool
from storage import SessionStore
from studio.workbench import Workbench
from studio.workbench.bench import FOLDED_RUNS

FINISHED = RunState(status="finished")


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads that take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.usefixtures("restless")
def test_many_threads_may_ask_for_more_runs_than_are_kept_in_memory(
    url: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Workbench.over(SessionStore.open(url), pool=pool, conductor=OfflineConductor())) as bench:
        monkeypatch.setattr(bench.store.runs, "state", lambda *_, **__: FINISHED)

        def ask(thread: int) -> None:
            for at in range(10_000):
                run: Any = SimpleNamespace(id=f"{thread}-{at}")
                assert bench.state(run) is FINISHED

        with ThreadPoolExecutor(12) as threads:
            list(threads.map(ask, range(12)))
        assert len(bench._folded) == FOLDED_RUNS
