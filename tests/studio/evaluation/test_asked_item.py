"""The question of an evaluation that a session answered, as it was asked."""

from __future__ import annotations

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.asked_item import asked_item
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(3))
def test_the_choices_are_in_the_order_in_which_they_were_asked(url: str, seed: int) -> None:
    data = DataSet("own", (Item(id="q", input="Which?", target="A", choices=("w", "x", "y", "z")),))
    spec = EvaluationSpec(data="", digest="", planners=("worker:alpha",), seed=seed)
    with SessionStore.open(url) as store:
        pool = Pool(workers=(SimulatedWorker("alpha", answer="A"),))
        bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
        evaluations = Evaluations(bench)
        record = evaluations.add(data, spec.planners, spec)
        evaluations.run(record.id)
        (cell,) = store.evaluations.cells(record.id)
        item = asked_item(store, cell.answered_in)
        assert item is not None
        assert item.question == store.sessions.find(cell.answered_in).query
        assert item.choices is not None
        assert item.choices["ABCD".index(item.target[0])] == "w"
        bench.close()
