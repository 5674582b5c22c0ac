"""A row that cannot be read takes down no sum and no list: it is named, and the rest goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from conductor.errors import StorageError
from conductor.evaluation.items import Item, UnreadableItem
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.team_tests import TeamTest
from conductor.runs.events import StepFinished
from conductor.values.messages import Usage
from conductor.values.presets import Settings
from storage import SessionFilter, SessionStore, left_out_rows
from storage.session_entries import NoteEntry
from tests.support.stores.store_scenario import VALID, begin, chain, charged, finished, keep, output, started

DAMAGE = ("", "{", '{"type": ', "null", "[]", '{"of": "the future"}', r'{"a": "\u0000"}', r'{"a": "\ud800"}')
"""JSON that no version reads here, or that PostgreSQL does not."""

MORE = ('{"of": "the future"}', r'{"a": "\u0000"}')
"""Those that a value without required fields is read from, but for what it does not know."""

NUMBERLESS = '{"type": "step_finished", "output": {"usage": {"prompt_tokens": "x", "cost": [1]}}}'
CHANGES = [
    *product(["an event"], (*DAMAGE, NUMBERLESS)),
    *product(["a plan's usage"], (*DAMAGE, '{"prompt_tokens": "x"}')),
]

PLANNING = Usage(prompt_tokens=1, completion_tokens=2, cost=0.25)
WORK = Usage(prompt_tokens=3, completion_tokens=4, cost=0.5)


def executed(store: SessionStore, url: str, statement: str, **values: Any) -> None:
    """Change a row as no version of the program does, and write something else as one does."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        assert connection.execute(text(statement), values).rowcount > 0
    engine.dispose()
    store.check_writable()


def session_with_a_run(store: SessionStore, run: str) -> str:
    """A session whose planning and run called a model."""
    session = store.sessions.create(f"What is {run}?").id
    store.plans.add(session, planner="c", planner_kind="model", report=VALID, usage=PLANNING)
    begin(store, session, run)
    called = output("text", run=run).model_copy(update={"worker_kind": "model", "usage": WORK})
    ended = charged(StepFinished(run=run, seq=1, at=1.0, step=0, output=called))
    keep(store, started(run, chain("do")), ended, finished(run, seq=2))
    return session


@pytest.fixture
def left_out() -> Iterator[dict[str, None]]:
    """The sentences about what the test's reads left out."""
    with left_out_rows() as sentences:
        yield sentences


@pytest.fixture
def pair(store: SessionStore) -> tuple[str, str]:
    """A session that stays as it was, and one with what gets damaged."""
    return session_with_a_run(store, "good"), session_with_a_run(store, "bad")


def removed(store: SessionStore, session: str) -> None:
    store.sessions.delete(session)
    assert store.housekeeping.remove_session(session)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
def test_a_sum_depends_on_no_event_and_no_plan(
    store: SessionStore, url: str, pair: tuple[str, str], left_out: dict[str, None], change: tuple[str, str]
) -> None:
    (good, bad), (row, damage) = pair, change
    if row == "an event":
        executed(store, url, "UPDATE events SET event = :new WHERE run = 'bad' AND seq = 1", new=damage)
    else:
        executed(store, url, "UPDATE plans SET usage = :new WHERE session = :id", new=damage, id=bad)
    assert store.sessions.used_since(0.0).tokens == 20
    assert store.sessions.total(bad) == store.sessions.total(good)
    assert store.sessions.total(good).model_dump() == {
        "calls": 2,
        "tokens": 10,
        "tokens_at_least": False,
        "cost": 0.75,
        "cost_at_least": False,
        "cost_at_most": False,
    }
    assert {each.id for each in store.sessions.listed()} == {good, bad}
    assert store.sessions.count(SessionFilter(least_tokens=1)) == 2
    assert store.sessions.count(SessionFilter(most_tokens=100)) == 2
    assert list(store.runs.totals(good)) == ["good"]
    removed(store, bad)
    assert store.sessions.used_since(0.0).tokens == 20, "what a removed session used stays"
    assert left_out == {}


def _all(store: SessionStore, session: str) -> dict[str, Callable[[], Sequence[Any]]]:
    """The lists of the store, by the table of their rows."""
    return {
        "sessions": store.sessions.listed,
        "plans": lambda: store.plans.of_session(session),
        "runs": lambda: store.runs.of_session(session),
        "revisions": lambda: store.revisions.history(session),
        "notes": lambda: store.notes.of_session(session),
        "change_requests": lambda: store.changes.of_session(session),
        "team_tests": lambda: store.tests.of_set("s"),
        "evaluations": store.evaluations.listed,
        "api_tokens": store.tokens.listed,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        ("sessions", "state", "of the future"),
        ("sessions", "origin", "of the future"),
        *(("plans", "report", damage) for damage in DAMAGE),
        *(("plans", "usage", damage) for damage in DAMAGE if damage not in MORE),
        ("plans", "planner_kind", "of the future"),
        ("runs", "status", "of the future"),
        ("revisions", "topology", "of the future"),
        ("notes", "part", "of the future"),
        ("change_requests", "decision", "of the future"),
        ("team_tests", "scorer", "of the future"),
        *(("evaluations", "spec", damage) for damage in DAMAGE),
        *(("api_tokens", "limits", damage) for damage in DAMAGE if damage != "null"),
    ],
)
def test_a_list_goes_on_without_a_row_and_names_it(
    store: SessionStore, url: str, left_out: dict[str, None], change: tuple[str, str, str]
) -> None:
    table, column, damage = change
    session = session_with_a_run(store, "first")
    for at in ("a", "b"):
        other = store.sessions.create(at).id
        if at == "b":
            store.plans.add(session, planner="c", planner_kind="model", report=VALID, usage=PLANNING)
            begin(store, session, "second")
            store.revisions.add(session, chain("other"), origin="human")
        store.notes.add(session, NoteEntry(id=at, part="question", text=at, created_at=0))
        head = store.revisions.head(session)
        assert head is not None
        store.changes.add(session, at, revision=head.id, wish=at, author=None)
        store.tests.add(
            TeamTest(id=at, data_set="s", question=at, accepted=at, scorer="contains", created_at=0)
        )
        store.evaluations.add(
            EvaluationSpec(data=at, digest="", planners=("p",)), [Item(id=at, input=at, target=("t",))]
        )
        store.tokens.create(at)
    listed = _all(store, session)[table]
    whole = listed()
    assert len(whole) > 1
    damaged = other if table == "sessions" else whole[0].id
    executed(store, url, f"UPDATE {table} SET {column} = :new WHERE id = :id", new=damage, id=damaged)
    assert [each.id for each in listed()] == [each.id for each in whole if each.id != damaged]
    assert any(damaged in sentence for sentence in left_out)
    # An answer that was cached names it again.
    left_out.clear()
    listed()
    assert any(damaged in sentence for sentence in left_out)
    for name, others in _all(store, session).items():
        assert name == table or len(others()) > 1
    store.sessions.delete(other)
    removed(store, other)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_result_that_cannot_be_read_is_none_yet(
    store: SessionStore, url: str, left_out: dict[str, None], damage: str
) -> None:
    items = [Item(id=each, input=each, target=("t",)) for each in "ab"]
    record = store.evaluations.add(EvaluationSpec(data="d", digest="", planners=("p",)), items)
    sessions = [
        store.evaluations.begin_cell(
            record.id, item=at, planner="p", repeat=0, query="q", settings=Settings(), pool_label=None
        )
        for at in range(2)
    ]
    for session in sessions:
        store.evaluations.end_cell(session, CellResult(score=Score(verdict="right")), ())
    executed(store, url, "UPDATE evaluation_cells SET result = :new WHERE item = 0", new=damage)
    assert [cell.result is None for cell in store.evaluations.cells(record.id)] == [True, False]
    assert len(left_out) == 1
    # What is scored again is there again.
    store.evaluations.end_cell(sessions[0], CellResult(score=Score(verdict="right")), ())
    left_out.clear()
    assert all(cell.result is not None for cell in store.evaluations.cells(record.id))
    assert left_out == {}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_an_item_that_cannot_be_read_is_named_and_leaves_the_others(
    store: SessionStore, url: str, left_out: dict[str, None], damage: str
) -> None:
    items = [Item(id=each, input=each, target=("t",)) for each in "abc"]
    record = store.evaluations.add(EvaluationSpec(data="d", digest="", planners=("p",)), items)
    executed(store, url, "UPDATE evaluation_items SET content = :new WHERE item = 1", new=damage)
    read = store.evaluations.items(record.id, damaged=True)
    assert [isinstance(item, UnreadableItem) for item in read] == [False, True, False]
    assert (read[0], read[2]) == (items[0], items[2])
    assert any("question 2" in sentence for sentence in left_out)
    with pytest.raises(StorageError, match="question 2"):
        store.evaluations.items(record.id)
    assert store.evaluations.item_at(record.id, 0) == items[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "where"),
    [
        ("revisions SET workflow", "session = :id"),
        ("plans SET report", "session = :id"),
        ("events SET event", "run = 'bad' AND seq = 0 AND :id <> ''"),
        ("sessions SET settings", "id = :id"),
    ],
)
def test_a_session_that_cannot_be_read_is_deleted_and_corrections_go_on(
    store: SessionStore, url: str, pair: tuple[str, str], column: str, where: str
) -> None:
    good, bad = pair
    for session in pair:
        [plan] = store.plans.of_session(session)
        planned = store.revisions.add(session, chain("planned"), origin="conductor", plan=plan.id)
        store.revisions.add(session, chain("edited"), origin="human", parent=planned.id)
        store.corrections.rate(store.runs.of_session(session)[0].id, "up")
    assert {each.session for each in store.corrections.read()} == set(pair)
    executed(store, url, f"UPDATE {column} = '{{' WHERE {where}", id=bad)
    left = {each.session for each in store.corrections.read()}
    assert good in left
    assert (bad in left) == column.startswith("events")
    assert {each.session for each in store.corrections.read_judged()} <= set(pair)
    assert [each.id for each in store.sessions.listed()].count(good) == 1
    if column.startswith("revisions"):
        with pytest.raises(StorageError, match="cannot read"):
            store.revisions.head(bad)
    removed(store, bad)
    assert [each.id for each in store.sessions.listed()] == [good]
