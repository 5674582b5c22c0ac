"""An evaluation that was made and scored, in a store of a test's own."""

from __future__ import annotations

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench

ITEMS = tuple(
    Item(id=word, input=f"Repeat {word}", target=(word,), metadata={"category": category})
    for word, category in (("one", "odd/one"), ("two", "even"), ("three", "odd/one"))
)
WORKERS = (
    SimulatedWorker(name="one", answer="Answer: one"),
    SimulatedWorker(name="none", answer="Answer: none"),
)


def scored(store: SessionStore) -> str:
    """Its id: the worker `one` is right on one of three questions, `none` on none."""
    bench = Workbench.over(store, pool=Pool(workers=WORKERS), conductor=OfflineConductor())
    spec = EvaluationSpec(data="", digest="", planners=("worker:one",), tags=("nightly",))
    evaluations = Evaluations(bench)
    id = evaluations.add(DataSet("words", ITEMS), ["worker:one", "worker:none"], spec).id
    evaluations.run(id)
    bench.background.close()
    return id
