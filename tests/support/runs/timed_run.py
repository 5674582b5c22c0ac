"""Whole runs on simulated workers whose every step takes the seconds of its test, in simulated time.

The engine's own clock is the loop's, so that measured times are exact and a run of hours takes no time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from conductor.engine.known_outputs import NO_OUTPUTS
from conductor.runs.events import Event
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState, fold
from conductor.runs.timeline import Moments, Timeline, timeline_of
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from tests.support.runs.simulated_time import in_simulated_time, now
from tests.support.runs.worker_cases import Outputs, events_of, run_of


def timed_workflow(*access: Sequence[int]) -> Workflow:
    """One step for each access list; every step has a worker of its own, "w1", "w2" and so on."""
    return Workflow.of(
        Step(instruction=f"task {number}", worker=f"w{number}", access=tuple(reads))
        for number, reads in enumerate(access, start=1)
    )


def timed_events(
    workflow: Workflow,
    seconds: Sequence[float],
    *,
    fail: Sequence[int] = (),
    outputs: Outputs = NO_OUTPUTS,
    scope: RunScope = EDITED,
    stop_after: float | None = None,
) -> list[Event]:
    """The events of a run in which step i takes `seconds[i]`; the steps in `fail` fail after that long.

    The run is stopped `stop_after` seconds, None: never.
    """

    async def play() -> list[Event]:
        pool = Pool(
            workers=tuple(
                SimulatedWorker(
                    name=f"w{i + 1}",
                    latency=latency,
                    tokens=4,
                    seed=i,
                    fail_calls=frozenset({0}) if i in fail else frozenset(),
                )
                for i, latency in enumerate(seconds)
            )
        )
        run = run_of(workflow, pool, outputs=outputs, scope=scope)
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, run.cancel)
        return await events_of(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conductor.runs.event_queue.time", SimpleNamespace(time=now, perf_counter=now))
        return in_simulated_time(play())


def measured(events: Sequence[Event]) -> tuple[RunState, Timeline]:
    """The end of a run and its timeline."""
    state = fold(events)
    return state, timeline_of(state, now=0.0, moments=Moments.of(events))
