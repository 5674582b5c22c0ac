"""Evaluations as rows: what each is made of, its items in order, and the cells that were begun.

A cell refers to the session that it was answered in, which is an ordinary one and may be removed by now.
Knows nothing of how items are scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, RowMapping, Text, case, func, select, type_coerce

from conductor.errors import StorageError, UnknownId
from conductor.evaluation.items import Item, UnreadableItem
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow
from storage.database.encoding import from_json
from storage.database.schema import EVALUATION_CELLS, EVALUATION_ITEMS, EVALUATIONS, SESSIONS
from storage.database.unreadable_rows import readable
from storage.records import CellRecord, EvaluationRecord, EvaluationSize
from storage.tables import revisions, runs, sessions
from storage.tables.rows import Rows, as_text, new_id, record

_EVALUATIONS = Rows(EvaluationRecord, EVALUATIONS, "evaluation", choose="one that is listed")
_CELLS = select(*(as_text(EVALUATION_CELLS.c[name]) for name in CellRecord.model_fields))
_ITEMS = select(*map(as_text, EVALUATION_ITEMS.c))
_ITEM = TypeAdapter(Item)
_RESULT: TypeAdapter[CellResult] = TypeAdapter(CellResult)

_UNANSWERED = '{"score":{"verdict":"unanswered"'

find = _EVALUATIONS.find
named = _EVALUATIONS.named


def add(connection: Connection, now: float, spec: EvaluationSpec, items: Sequence[Item]) -> EvaluationRecord:
    """Store an evaluation that is about to begin."""
    evaluation = new_id()
    connection.execute(EVALUATIONS.insert(), {"id": evaluation, "created_at": now, "spec": spec})
    rows = [{"evaluation": evaluation, "item": at, "content": item} for at, item in enumerate(items)]
    connection.execute(EVALUATION_ITEMS.insert(), rows)
    return find(connection, evaluation)


def listed(connection: Connection) -> tuple[EvaluationRecord, ...]:
    """All evaluations, newest first."""
    return _EVALUATIONS.select(connection, by=EVALUATIONS.c.created_at.desc())


def sizes(connection: Connection) -> Mapping[str, EvaluationSize]:
    """How large each evaluation is, by its id."""
    items = select(EVALUATION_ITEMS.c.evaluation, func.count()).group_by(EVALUATION_ITEMS.c.evaluation)
    text = type_coerce(EVALUATION_CELLS.c.result, Text)
    # By how it begins: to read the JSON of every cell takes long.
    scored = case((func.substr(text, 1, len(_UNANSWERED)) != _UNANSWERED, 1))
    cells = select(EVALUATION_CELLS.c.evaluation, func.count(), func.count(scored)).group_by(
        EVALUATION_CELLS.c.evaluation
    )
    counts = {id: (sessions, scored) for id, sessions, scored in connection.execute(cells)}
    by_id = {}
    for id, questions in connection.execute(items):
        sessions, scored = counts.get(id, (0, 0))
        by_id[id] = EvaluationSize(questions=questions, sessions=sessions, scored=scored)
    return by_id


def items(connection: Connection, evaluation: str, *, damaged: bool = False) -> tuple[Item, ...]:
    """The evaluation's items in their order. At one that cannot be read it raises `StorageError`, or, where
    `damaged` ones are wanted, names it and has an `UnreadableItem` in its place.
    """
    find(connection, evaluation)
    own = _ITEMS.where(EVALUATION_ITEMS.c.evaluation == evaluation).order_by(EVALUATION_ITEMS.c.item)
    read = _shown_item if damaged else _item
    return tuple(read(row) for row in connection.execute(own))


def _item(row: Row[Any]) -> Item:
    try:
        return from_json(_ITEM, row.content)
    except StorageError as error:
        raise StorageError(f"{_question(row.evaluation, row.item)}: {error}") from error


def _shown_item(row: Row[Any]) -> Item:
    return next(readable(_item, [row]), UnreadableItem.at(row.item))


def _question(evaluation: str, item: int) -> str:
    return f"Evaluation {evaluation!r}, question {item + 1:,}"


def item_at(connection: Connection, evaluation: str, at: int) -> Item:
    """The evaluation's item at that place, from 0."""
    own = (EVALUATION_ITEMS.c.evaluation == evaluation) & (EVALUATION_ITEMS.c.item == at)
    row = connection.execute(_ITEMS.where(own)).first()
    if row is None:
        raise UnknownId(f"There is no item {at} in the evaluation {evaluation!r}; choose one that it has.")
    return _item(row)


def set_spec(connection: Connection, evaluation: str, spec: EvaluationSpec) -> EvaluationRecord:
    """Store what an evaluation is made of from now on."""
    connection.execute(EVALUATIONS.update().where(EVALUATIONS.c.id == evaluation).values(spec=spec))
    return find(connection, evaluation)


def set_end(
    connection: Connection, evaluation: str, *, ended_at: float | None, reason: str | None = None
) -> None:
    """Store when all was done or it was stopped, and why it was; None if it goes on."""
    find(connection, evaluation)
    row = EVALUATIONS.update().where(EVALUATIONS.c.id == evaluation)
    connection.execute(row.values(ended_at=ended_at, reason=reason))


def delete(connection: Connection, now: float, evaluation: str) -> int:
    """Remove an evaluation for good, and hide the sessions of its cells as `sessions.delete` does; returns
    how many.
    """
    find(connection, evaluation)
    of = EVALUATION_CELLS.c.evaluation == evaluation
    answered = select(EVALUATION_CELLS.c.answered_in).where(of)
    visible = SESSIONS.update().where(SESSIONS.c.id.in_(answered), SESSIONS.c.deleted_at.is_(None))
    hidden = connection.execute(visible.values(deleted_at=now)).rowcount
    for table in (EVALUATION_CELLS, EVALUATION_ITEMS):
        connection.execute(table.delete().where(table.c.evaluation == evaluation))
    connection.execute(EVALUATIONS.delete().where(EVALUATIONS.c.id == evaluation))
    return hidden


def cells(connection: Connection, evaluation: str) -> tuple[CellRecord, ...]:
    """The cells that were begun, by item, repeat and planner."""
    own = _CELLS.where(EVALUATION_CELLS.c.evaluation == evaluation)
    order = (EVALUATION_CELLS.c.item, EVALUATION_CELLS.c.repeat, EVALUATION_CELLS.c.planner)
    rows = connection.execute(own.order_by(*order)).mappings()
    return tuple(_cell(row) for row in rows)


def _cell(row: RowMapping) -> CellRecord:
    """The row as a record; a result that cannot be read is none yet, and named."""
    result = None
    if row["result"] is not None:
        text = row["result"]
        name = _question(row["evaluation"], row["item"])
        result = next(readable(partial(from_json, _RESULT), [text], name=lambda _: name), None)
    return record(CellRecord, {**row, "result": result})


def cell_of_session(connection: Connection, session: str) -> CellRecord | None:
    """The cell that was answered in that session; None if it is of no evaluation."""
    row = connection.execute(_CELLS.where(EVALUATION_CELLS.c.answered_in == session)).mappings().first()
    return None if row is None else _cell(row)


def begin_cell(
    connection: Connection,
    now: float,
    evaluation: str,
    *,
    item: int,
    planner: str,
    repeat: int,
    query: str,
    settings: Settings,
    pool_label: str | None,
    workflow: Workflow | None = None,
    note: str = "",
) -> str:
    """Create the cell and the session that it is answered in, or nothing of them; the session's id.

    A `workflow` that is given becomes the session's first revision, with that note.
    """
    session = sessions.create(
        connection, now, query, pool_label=pool_label, origin="evaluation", settings=settings
    )
    row = {
        "evaluation": evaluation,
        "item": item,
        "planner": planner,
        "repeat": repeat,
        "answered_in": session.id,
    }
    connection.execute(EVALUATION_CELLS.insert(), row)
    if workflow is not None:
        revisions.add(connection, now, session.id, workflow, origin="import", note=note)
    return session.id


def end_cell(
    connection: Connection, now: float, session: str, result: CellResult, outputs: Sequence[Output]
) -> None:
    """Store what the cell that was answered in that session came to, and the `outputs` that the session has
    reused from another one, so that it can reuse them by itself.
    """
    runs.add_outputs(connection, now, session, outputs)
    row = EVALUATION_CELLS.update().where(EVALUATION_CELLS.c.answered_in == session)
    connection.execute(row.values(result=result))
