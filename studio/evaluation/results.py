"""The results of an evaluation in the store. Knows the store's records; the table is the library's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.baselines.named import label_of
from conductor.errors import DataError
from conductor.evaluation.comparison import PlannerTwice, compare_evaluations
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of, verdicts_of
from conductor.evaluation.items import Item
from conductor.evaluation.known_answers import Place, completed, missing_of, rate_of
from conductor.evaluation.report import report_page
from conductor.evaluation.report.exports import row_values
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import outage_words
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import Rate
from storage import SessionStore
from storage.records import CellRecord, EvaluationRecord


def find_evaluation(store: SessionStore, prefix: str) -> EvaluationRecord:
    """The evaluation whose id begins so, the newest one for "last". Raises `DataError` for none and for
    several.
    """
    if prefix == "last" and (newest := store.evaluations.listed()):
        return newest[0]
    ids = store.evaluations.named(prefix)
    if len(ids) != 1:
        which = "There is no evaluation" if not ids else "There are several evaluations"
        raise DataError(f"{which} {prefix!r}; choose one that `evaluate list` names.")
    return store.evaluations.find(ids[0])


def scored_cells(store: SessionStore, evaluation: str) -> tuple[Cell, ...]:
    """The cells that have a result, by item, repeat and planner."""
    return scored(store.evaluations.cells(evaluation))


def scored(records: Iterable[CellRecord]) -> tuple[Cell, ...]:
    """Those of these cells that have a result."""
    return tuple(
        Cell(
            item=each.item,
            planner=each.planner,
            repeat=each.repeat,
            session=each.answered_in,
            result=each.result,
        )
        for each in records
        if each.result is not None
    )


def resumed_words(store: SessionStore, record: EvaluationRecord) -> str:
    """What `resume` asks, and what it leaves as it is; of a sequential evaluation what it asks at most."""
    scores = [cell.result.score for cell in scored_cells(store, record.id)]
    outages = Counter(score.outage for score in scores if score.unanswered)
    counts = {
        "asked for the first time": record.spec.cells(store.evaluations.sizes()[record.id].questions)
        - len(scores),
        f"asked again ({outage_words(outages)})": outages.total(),
        "judged again": sum(score.verdict == "unjudged" for score in scores),
        "left as they are": sum(score.is_known for score in scores),
    }
    return "answers: " + ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)


def table_of_evaluation(
    store: SessionStore, record: EvaluationRecord, cells: Sequence[Cell] | None = None
) -> EvaluationTable:
    """The table of what was scored so far: `cells`, where the caller has read them already."""
    cells = scored_cells(store, record.id) if cells is None else cells
    items = store.evaluations.items(record.id, damaged=True)
    judge = None if record.spec.judge is None else record.spec.judge.worker
    spec = record.spec
    order = spec.order(len(items)) if spec.sequential else None
    whole = frozenset(spec.whole)
    places = _places(spec, len(items))
    table = table_of(
        items,
        spec.whole,
        [cell for cell in cells if cell.planner in whole],
        spec.fitted,
        judge=judge,
        order=order,
        places={planner: places[planner] for planner in whole},
    )
    return replace(table, in_part=len(spec.parts))


def _places(spec: EvaluationSpec, questions: int) -> Mapping[str, Sequence[Place]]:
    """What each planner is to answer; what a sequential evaluation does not ask once it is decided is not
    missing.
    """
    places = {} if spec.sequential else spec.places(questions)
    return {
        planner: [(at, repeat) for at in places.get(planner, ()) for repeat in range(spec.repeats)]
        for planner in spec.planners
    }


def possible_rates(
    spec: EvaluationSpec, cells: Sequence[Cell], questions: int
) -> tuple[tuple[Rate | None, Rate | None], int]:
    """The first planner's rate if all of its answers that are missing were wrong, and if all were right; and
    how many are missing.
    """
    own = [cell for cell in cells if cell.planner == spec.planners[0]]
    answers = verdicts_of(own)
    places = {*_places(spec, questions)[spec.planners[0]], *((cell.item, cell.repeat) for cell in own)}
    missing = missing_of(answers, places)
    low, high = (rate_of(completed(answers, missing, right=right)) for right in (False, True))
    return (low, high), len(missing)


def answer_shapes(items: Sequence[Item], cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Each answer, for programs; what is unknown is null."""
    return [
        {
            "item": items[cell.item].id,
            "question": items[cell.item].input,
            "target": items[cell.item].target,
            "category": items[cell.item].category,
            "planner": cell.planner,
            "repeat": cell.repeat,
            "verdict": cell.result.score.verdict,
            "answer": cell.result.score.answer,
            "reason": cell.result.score.reason or cell.result.score.outage or None,
            "session": cell.session,
            "tokens": cell.result.whole.usage.total,
            "cost": cell.result.whole.usage.cost,
            "calls": cell.result.calls,
            "seconds": cell.result.seconds,
        }
        for cell in cells
    ]


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
