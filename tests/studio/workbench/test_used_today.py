"""Today's sum is read again when it may have changed, and not at every look where that takes long."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Usage
from conductor.values.total import Total
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import Reality, SessionStore
from studio.workbench import Workbench


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "seen"), [(0.0, 30), (1.0, 10)], ids=["read at once", "read for long"])
def test_it_counts_planning_and_is_as_new_as_reading_it_is_quick(
    url: str, monkeypatch: pytest.MonkeyPatch, seconds: float, seen: int
) -> None:
    store = SessionStore.open(url)
    bench = Workbench.over(
        store, pool=Pool(workers=(SimulatedWorker(name="alpha"),)), conductor=OfflineConductor()
    )
    now = [0.0]
    read = store.sessions.used_since

    def timed(moment: float, reality: Reality = "real") -> Total:
        now[0] += seconds / 2
        return read(moment, reality)

    # The module's own name alone: loops of servers in other threads wait by the real clock.
    monkeypatch.setattr("studio.workbench.used_today.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(store.sessions, "used_since", timed)
    session = bench.ask("Why?").id

    def planned(tokens: int) -> None:
        usage = Usage(prompt_tokens=tokens, completion_tokens=0)
        store.plans.add(session, planner="c", planner_kind="model", report=None, failure="No.", usage=usage)

    planned(10)
    assert bench.used_today.total().tokens == 10
    planned(20)
    now[0] += 40.0
    assert bench.used_today.total().tokens == seen
    now[0] += 40.0
    assert bench.used_today.total().tokens == 30
    planned(30)
    ended = store.sessions.find(session).updated_at
    assert bench.used_today.total(after=ended).tokens == 60, (
        "a sum from before the end of a plan is not shown"
    )
    bench.close()


def test_what_models_on_this_machine_took_is_apart_from_what_is_paid_for(url: str) -> None:
    with SessionStore.open(url) as store:
        bench = Workbench.over(
            store, pool=Pool(workers=(SimulatedWorker(name="alpha"),)), conductor=OfflineConductor()
        )
        session = bench.ask("Why?").id
        for kind, tokens in (("model", 10), ("embedded", 300), ("simulated", 5000)):
            usage = Usage(prompt_tokens=tokens, completion_tokens=0)
            store.plans.add(session, planner="c", planner_kind=kind, report=None, failure="No.", usage=usage)
        assert (bench.used_today.total().tokens, bench.used_today.unpaid().tokens) == (10, 300)
        bench.close()
