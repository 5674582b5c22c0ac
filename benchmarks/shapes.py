"""The workflows that are measured, and the pool that answers them.

Knows how long each must take at best; knows nothing of who runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import networkx as nx

from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow

QUERY = "How much of a battery's cathode is recovered by direct recycling?"
ANSWER = ("Direct recycling keeps most of the cathode's value where the feed is sorted well. " * 25)[:2_000]
"""As long as a model's answer: shorter texts would be stored in their events."""
WORKER = "simulated"


def _workflow(access_lists: Iterable[Sequence[int]]) -> Workflow:
    return Workflow.of(
        Step(instruction=f"Do part {at + 1} of the work.", worker=WORKER, access=tuple(access))
        for at, access in enumerate(access_lists)
    )


SHAPES: Mapping[str, Workflow] = {
    "chain-5": _workflow([[], [0], [1], [2], [3]]),
    "fan-out-4 + aggregator": _workflow([[], [], [], [], [0, 1, 2, 3]]),
    "diamond": _workflow([[], [0], [0], [1, 2]]),
    "planner-executor-verifier": _workflow([[], [0], [0, 1]]),
}


def critical_seconds(workflow: Workflow, latency: float) -> float:
    """The least time the workflow can take when each step waits `latency` seconds."""
    return latency * (nx.dag_longest_path_length(workflow.graph) + 1)


def simulated_pool(latency: float) -> Pool:
    """One worker that answers the same text of 2,000 characters after `latency` seconds."""
    return Pool(workers=(SimulatedWorker(name=WORKER, latency=latency, answer=ANSWER),))
