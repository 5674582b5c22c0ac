"""Runs whose state is kept in memory: how many, and for whom."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from conductor.runs.state import RunState
from studio.workbench import Workbench
from studio.workbench.base import FOLDED_RUNS

FINISHED = RunState(status="finished")


class Told:
    """A store that has every run, and a background in which none lives."""

    @property
    def runs(self) -> Told:
        return self

    def state(self, _: str, *, known: RunState | None) -> RunState:  # noqa: ARG002
        return FINISHED

    def live(self, _: str) -> None:
        return None


@dataclass(frozen=True)
class Named:
    """As much of a run's record as its state is asked for by."""

    id: str


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_many_threads_may_ask_for_more_runs_than_are_kept_in_memory() -> None:
    told: Any = Told()
    bench = Workbench(store=told, background=told, activities=told, runner=told)

    def ask(thread: int) -> None:
        for at in range(30_000):
            run: Any = Named(f"{thread}-{at}")
            assert bench.state(run) is FINISHED

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(ask, range(12)))
    assert len(bench._folded) == FOLDED_RUNS
