"""Sessions a second that one, two and four processes write to one store: `python benchmarks/writers.py URL`.

Each process runs workflows of four steps whose workers answer at once, forty at a time, and stores each as a
session of a request. Rounds take turns (1, 2, 4, 1, 2, 4). What came of it is in docs/scaling.md.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

# A script sees its own folder only; the program stands one above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.orchestration.rounds import new_id
from conductor.runs.request import RunRequest
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.records import RequestSession
from studio.gc_tuning import settle
from studio.sessions.background_runs import LiveRun

AT_ONCE = 40

_WORDS = [
    f"{first}{last}" for first in ("ka", "lo", "mi", "nu", "ta") for last in ("ren", "sal", "tov", "wig")
]


class Writing(NamedTuple):
    """What a process did: when it began and ended (Unix seconds), and seconds of a core for itself."""

    begin: float
    end: float
    core: float


def _text(words: int) -> str:
    return " ".join(random.choices(_WORDS, k=words))


def _workflow() -> Workflow:
    steps = [
        Step(instruction=f"Do {_text(20)}", worker="a", access=(at - 1,) if at else ()) for at in range(4)
    ]
    return Workflow.of(steps)


async def _write(store: SessionStore, sessions: int) -> None:
    pool = Pool(workers=(SimulatedWorker(name="a", answer=lambda _: _text(300)),))
    left = iter(range(sessions))

    async def lane() -> None:
        for _ in left:
            query, workflow, run = _text(12), _workflow(), new_id()
            request = RunRequest(query=query, workflow=workflow)
            start = store.requests.begin(request, session=new_id(), stored_as=RequestSession(), run=run)
            bound = BoundWorkflow.of(workflow, query=query, pool=pool)
            live = LiveRun(WorkflowRun(bound, pool, run=run), store.runs, start_write=start)
            async for _ in live.events():
                pass
            if live.unsaved is not None:
                raise RuntimeError(live.unsaved)

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


def _process(url: str, sessions: int, seed: int, begin: float) -> Writing:
    """Write so many sessions, from the moment `begin` on, when all processes are there."""
    random.seed(seed)
    with SessionStore.open(url) as store:
        asyncio.run(_write(store, AT_ONCE))  # the first ones pay for imports and connections
        settle()
        time.sleep(max(0.0, begin - time.time()))
        start, used = time.time(), time.process_time()
        asyncio.run(_write(store, sessions))
        return Writing(start, time.time(), time.process_time() - used)


def measure(url: str, processes: int, sessions: int) -> tuple[float, float]:
    """Sessions a second of all processes together, and milliseconds of a core that each session takes."""
    begin = time.time() + 4 + processes
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_process, url, sessions, seed, begin) for seed in range(processes)]
        writings = [job.result() for job in jobs]
    seconds = max(each.end for each in writings) - min(each.begin for each in writings)
    total = processes * sessions
    return total / seconds, 1000 * sum(each.core for each in writings) / total


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure how many sessions several processes write.")
    parser.add_argument("url", help="the store, of which nothing is removed")
    parser.add_argument("--sessions", type=int, default=400, help="that each process writes in a round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    results: dict[int, list[tuple[float, float]]] = {1: [], 2: [], 4: []}
    for _ in range(options.rounds):
        for processes, rows in results.items():
            rows.append(measure(options.url, processes, options.sessions))
    for processes, rows in results.items():
        rates, cores = zip(*rows, strict=True)
        print(
            f"{processes} process{'es' * (processes > 1)}: {median(rates):.0f} sessions a second "
            f"({min(rates):.0f} to {max(rates):.0f}), {median(cores):.1f} ms of a core each"
        )


if __name__ == "__main__":
    main()
