"""An evaluation with a question that cannot be read: the others are asked, and it is named."""

from __future__ import annotations

import pytest
from sqlalchemy import Text, type_coerce

from conductor.errors import StorageError
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.items import DataSet
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from storage import SessionStore, left_out_rows
from storage.database.schema import EVALUATION_ITEMS
from studio.evaluation.background import BackgroundEvaluations
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench
from tests.support.stores.scored_evaluation import ITEMS, WORKERS

PLANNERS = ["worker:one", "worker:none"]
SPEC = EvaluationSpec(data="", digest="", planners=("worker:one",))
NAMED = "question 2: The store holds an entry that this version cannot read"


def _write(store: SessionStore, content: str) -> None:
    """Store that text in the place of the second question."""
    row = EVALUATION_ITEMS.update().where(EVALUATION_ITEMS.c.item == 1)
    with store._transactions.database.transaction(to="write") as connection:
        connection.execute(row.values({EVALUATION_ITEMS.c.content: type_coerce(content, Text)}))


def _table(bench: Workbench, evaluation: str) -> EvaluationTable:
    with left_out_rows() as sentences:
        table = table_of_evaluation(bench.store, bench.store.evaluations.find(evaluation))
    assert [NAMED in each for each in sentences] == [True]
    return table


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["{", "null", '{"id": "of the future"}'])
def test_a_question_that_cannot_be_read_is_left_out_until_it_can(store: SessionStore, damage: str) -> None:
    bench = Workbench.over(store, pool=Pool(workers=WORKERS), conductor=OfflineConductor())
    evaluations = Evaluations(bench)
    id = evaluations.add(DataSet("words", ITEMS), PLANNERS, SPEC).id

    _write(store, damage)
    progress = evaluations.run(id)
    assert (progress.done, progress.cells, progress.failure) == (4, 4, None)
    record = store.evaluations.find(id)
    assert record.reason == "Done, but 1 of 3 questions cannot be read; resume asks for these again."
    assert BackgroundEvaluations(bench).state(record) == "incomplete"
    assert [sum(row.verdicts.values()) for row in _table(bench, id).rows if not row.computed] == [2, 2]
    with pytest.raises(StorageError, match=NAMED):
        evaluations.add_on(record, [])

    _write(store, ITEMS[1].model_dump_json())
    evaluations.run(id)
    assert store.evaluations.find(id).reason is None
    assert {cell.item for cell in store.evaluations.cells(id)} == {0, 1, 2}

    _write(store, damage)
    progress = evaluations.run(id)
    assert (progress.done, progress.cells) == (6, 6)
    assert store.evaluations.find(id).reason is None
    assert [sum(row.verdicts.values()) for row in _table(bench, id).rows if not row.computed] == [3, 3]
    bench.background.close()
