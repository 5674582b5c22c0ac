"""What an evaluation in the store came to. Knows the store's records; the table is the library's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conductor.baselines.named import label_of
from conductor.errors import DataError
from conductor.evaluation.comparison import PlannerTwice, compare_evaluations
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.report import report_page
from conductor.evaluation.report.exports import row_values
from conductor.evaluation.report.remarks import remarks
from storage import SessionStore
from storage.records import EvaluationRecord


def find_evaluation(store: SessionStore, prefix: str) -> EvaluationRecord:
    """The evaluation whose id begins so. Raises `DataError` for none and for several."""
    ids = store.evaluations.named(prefix)
    if len(ids) != 1:
        which = "There is no evaluation" if not ids else "There are several evaluations"
        raise DataError(f"{which} {prefix!r}; choose one that `evaluate list` names.")
    return store.evaluations.find(ids[0])


def scored_cells(store: SessionStore, evaluation: str) -> tuple[Cell, ...]:
    """The cells that have a result, by item, repeat and planner."""
    return tuple(
        Cell(
            item=each.item,
            planner=each.planner,
            repeat=each.repeat,
            session=each.answered_in,
            result=each.result,
        )
        for each in store.evaluations.cells(evaluation)
        if each.result is not None
    )


def table_of_evaluation(
    store: SessionStore, record: EvaluationRecord, cells: Sequence[Cell] | None = None
) -> EvaluationTable:
    """The table of what was scored so far: `cells`, where the caller has read them already."""
    cells = scored_cells(store, record.id) if cells is None else cells
    items = store.evaluations.items(record.id)
    judge = None if record.spec.judge is None else record.spec.judge.worker
    order = record.spec.order(len(items)) if record.spec.sequential else None
    return table_of(items, record.spec.planners, cells, record.spec.fitted, judge=judge, order=order)


def compared(
    store: SessionStore, first: EvaluationRecord, second: EvaluationRecord
) -> tuple[PlannerTwice, ...]:
    """The planners of both. Raises `DataError` where the two cannot be compared, naming why."""
    return compare_evaluations(
        first.spec, scored_cells(store, first.id), second.spec, scored_cells(store, second.id)
    )


def table_shape(record: EvaluationRecord, table: EvaluationTable) -> dict[str, Any]:
    """The table with what was asked, for programs: JSON's own values."""
    return {
        "evaluation": record.id,
        "spec": record.spec.model_dump(mode="json"),
        "planners": [{"name": label_of(row.planner), **row_values(row)} for row in table.rows],
        "categories": {
            category: {
                planner: {"right": rate.right, "of": rate.answers, "questions": rate.questions}
                for planner, rate in by.items()
            }
            for category, by in table.categories.items()
        },
        "remarks": list(remarks(table)),
    }


def page_of_evaluation(store: SessionStore, record: EvaluationRecord, table: EvaluationTable) -> str:
    """The table as a page of HTML that loads nothing."""
    count = store.evaluations.sizes()[record.id].questions
    return report_page(table, record.spec, begun_at=record.created_at, questions=count)
