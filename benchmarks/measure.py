"""Measurements: workflows one at a time, many at once, and the parts of the engine's own time.

Contenders take turns (A B A B), so that a slow moment of the machine meets all of them alike.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contenders import CONTENDERS, Load, Runs, start_runs
from benchmarks.shapes import SHAPES
from storage import SessionStore
from studio.gc_tuning import settle


@dataclass(frozen=True)
class Spread:
    """The middle and the least of repeated measurements."""

    median: float
    minimum: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """Raises `statistics.StatisticsError` when there are none."""
        return cls(median=median(samples), minimum=min(samples))


@dataclass(frozen=True)
class Crowd:
    """Many workflows at once: how many ended in a second, seconds of wall time a step, memory in MiB.

    `peak` is the most the process ever held, `growth` how much of that came with the crowd.
    """

    per_second: float
    a_step: float
    peak: float
    growth: float


@contextmanager
def temporary_store() -> Iterator[SessionStore]:
    """A store on a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, SessionStore.open(f"sqlite:///{folder}/b.db") as store:
        yield store


def alone(load: Load, store: SessionStore, *, rounds: int) -> dict[str, Spread]:
    """Seconds a workflow for each contender; the runs of a load come one after another."""
    samples: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, prepare in CONTENDERS.items():
            runs = prepare(load, store)
            samples[name].append(_seconds(_in_turn(runs)) / load.runs)
    return {name: Spread.of(seconds) for name, seconds in samples.items()}


def starting(load: Load, store: SessionStore, *, rounds: int) -> Spread:
    """Seconds to make a session with its revision and to start a run in it, before its first event."""
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        start_runs(load, store)
        samples.append((time.perf_counter() - start) / load.runs)
    return Spread.of(samples)


def crowds(names: Sequence[str], *, size: int, latency: float, rounds: int) -> dict[str, Crowd]:
    """For each contender the median of `rounds` crowds, each in a process of its own.

    A process's peak memory never falls, so two crowds in one process could not be distinguished.
    """
    samples: dict[str, list[Crowd]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
                samples[name].append(process.submit(crowd, name, size=size, latency=latency).result())
    return {name: _middle(repeats) for name, repeats in samples.items()}


def crowd(name: str, *, size: int, latency: float) -> Crowd:
    """`size` workflows at once, of all shapes alike. Memory means something in a fresh process only."""
    with temporary_store() as store:
        _seconds(_gathered(_prepared(name, _loads(runs=len(SHAPES), latency=0.0), store)))
        loads = _loads(runs=size, latency=latency)
        runs = _prepared(name, loads, store)
        before = peak_memory()
        seconds = _seconds(_gathered(runs))
        peak = peak_memory()
    steps = sum(load.runs * len(load.workflow) for load in loads)
    return Crowd(per_second=size / seconds, a_step=seconds / steps, peak=peak, growth=peak - before)


def _loads(*, runs: int, latency: float) -> list[Load]:
    """All shapes, as evenly as that many runs can be shared out."""
    counts = [runs // len(SHAPES) + (at < runs % len(SHAPES)) for at in range(len(SHAPES))]
    return [
        Load(workflow=workflow, latency=latency, runs=count)
        for workflow, count in zip(SHAPES.values(), counts, strict=True)
    ]


def _prepared(name: str, loads: Iterable[Load], store: SessionStore) -> Runs:
    return [run for load in loads for run in CONTENDERS[name](load, store)]


def _middle(repeats: Sequence[Crowd]) -> Crowd:
    return Crowd(
        per_second=median(one.per_second for one in repeats),
        a_step=median(one.a_step for one in repeats),
        peak=median(one.peak for one in repeats),
        growth=median(one.growth for one in repeats),
    )


async def _in_turn(runs: Iterable[Coroutine[Any, Any, None]]) -> None:
    for run in runs:
        await run


async def _gathered(runs: Iterable[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*runs)


def _seconds(work: Coroutine[Any, Any, None]) -> float:
    """Wall time of `work` in a loop of its own, which is made and closed outside of the clock.

    The cycle collector is set as the app sets it.
    """
    settle()
    try:
        with asyncio.Runner() as runner:
            runner.get_loop()
            start = time.perf_counter()
            runner.run(work)
            return time.perf_counter() - start
    finally:
        gc.unfreeze()


def peak_memory() -> float:
    """The most memory this process ever held, in MiB.

    Linux hands a new process the peak of the one that started it in `ru_maxrss`, so the kernel's own
    account is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
