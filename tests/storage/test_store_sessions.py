"""Sessions in the store: made, named, listed, searched, deleted and restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import StorageError
from conductor.files.project_folder import own_store
from conductor.values.messages import Usage
from conductor.workflow.plan_report import PlanReport
from storage import SessionFilter, SessionStore, default_url
from tests.support.stores.store_scenario import INVALID, VALID, begin, chain, finished, keep


def _plan(store: SessionStore, session: str, report: PlanReport | None) -> None:
    store.plans.add(
        session, planner="c", planner_kind="model", report=report, failure=None, usage=Usage(), seconds=None
    )


@pytest.mark.parametrize(
    ("query", "title", "expected"),
    [
        ("Why is the sky blue?", None, "Why is the sky blue?"),
        ("two\n  lines", None, "two lines"),
        ("q", "  My  title ", "My title"),
        ("q", "", "q"),
        (" \n", None, "Untitled session"),
        ("x" * 81, None, "x" * 79 + "…"),
        ("x" * 80, None, "x" * 80),
    ],
)
def test_a_session_is_called_by_its_title_or_after_its_query(
    store: SessionStore, query: str, title: str | None, expected: str
) -> None:
    session = store.sessions.create(query, title=title, pool_label="offline")
    assert (session.title, session.query, session.pool_label) == (expected, query, "offline")
    assert store.sessions.find(session.id) == session


def test_a_renamed_session_keeps_its_place_in_the_list(store: SessionStore) -> None:
    older, newer = store.sessions.create("older"), store.sessions.create("newer")
    assert store.sessions.rename(older.id, "Renamed").title == "Renamed"
    assert store.sessions.rename(newer.id, " ").title == "newer"
    assert [summary.title for summary in store.sessions.listed()] == ["newer", "Renamed"]


def test_sessions_are_listed_last_updated_first_and_by_pages(store: SessionStore) -> None:
    ids = [store.sessions.create(f"q{i}").id for i in range(5)]
    store.revisions.add(ids[1], chain("do"), origin="human")
    order = [ids[1], ids[4], ids[3], ids[2], ids[0]]
    assert [summary.id for summary in store.sessions.listed()] == order
    assert [summary.id for summary in store.sessions.listed(limit=2, after=order[1])] == order[2:4]
    assert store.sessions.count() == 5


@pytest.mark.slow
def test_a_deleted_session_leaves_the_list_and_comes_back_to_its_place(store: SessionStore) -> None:
    first, second = store.sessions.create("first"), store.sessions.create("second")
    before = store.sessions.listed()
    store.sessions.delete(first.id)
    deleted = store.sessions.find(first.id)
    assert deleted.deleted_at is not None
    assert deleted == first.model_copy(update={"deleted_at": deleted.deleted_at})
    assert [summary.id for summary in store.sessions.listed()] == [second.id]
    assert store.sessions.count() == 1
    store.sessions.restore(first.id)
    assert store.sessions.find(first.id) == first
    assert store.sessions.listed() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "titles"),
    [
        ("", {"sky", "sum"}),
        ("BLUE", {"sky"}),
        ("named", {"sum"}),
        ("forty-two", {"sum"}),
        ("100%", {"sky"}),
        ("%", set()),
        ("_", set()),
        ("nowhere", set()),
        ("\ud800", set()),
    ],
)
def test_search_looks_into_titles_queries_and_answers(
    store: SessionStore, search: str, titles: set[str]
) -> None:
    sky = store.sessions.create("why blue, 100% sure?", title="Sky")
    total = store.sessions.create("add", title="Named")
    begin(store, total.id, "r")
    keep(store, finished("r", seq=0, answer="It is forty-two."))
    ids = {"sky": sky.id, "sum": total.id}
    assert {summary.id for summary in store.sessions.listed(SessionFilter(search=search))} == {
        ids[name] for name in titles
    }
    assert store.sessions.count(SessionFilter(search=search)) == len(titles)


@pytest.mark.slow
def test_the_state_states_what_happened_last(store: SessionStore, session: str) -> None:
    states = [store.sessions.listed()[0].state]
    _plan(store, session, INVALID)
    states.append(store.sessions.listed()[0].state)
    store.revisions.add(session, chain("do"), origin="human")
    states.append(store.sessions.listed()[0].state)
    begin(store, session, "r1")
    keep(store, finished("r1", seq=0, outcome="failed"))
    states.append(store.sessions.listed()[0].state)
    begin(store, session, "r2")
    states.append(store.sessions.listed()[0].state)
    keep(store, finished("r2", seq=0, outcome="cancelled"))
    store.revisions.add(session, chain("do it"), origin="human")
    states.append(store.sessions.listed()[0].state)
    _plan(store, session, None)
    states.append(store.sessions.listed()[0].state)
    _plan(store, session, VALID)
    states.append(store.sessions.listed()[0].state)
    assert states == ["new", "rejected", "planned", "failed", "running", "cancelled", "unplanned", "planned"]


@pytest.mark.slow
def test_planning_that_was_stopped_has_not_failed_and_a_session_with_a_workflow_keeps_its_state(
    store: SessionStore, session: str
) -> None:
    def stop_planning() -> str:
        store.plans.add(session, planner="c", planner_kind="model", report=None, stopped=True, usage=Usage())
        return store.sessions.listed()[0].state

    assert stop_planning() == "cancelled"
    store.revisions.add(session, chain("do"), origin="human")
    assert stop_planning() == "planned"
    begin(store, session, "r1")
    keep(store, finished("r1", seq=0, outcome="failed"))
    assert stop_planning() == "failed"


@pytest.mark.slow
def test_a_summary_shows_the_shape_of_the_current_workflow(store: SessionStore, session: str) -> None:
    assert (store.sessions.listed()[0].topology, store.sessions.listed()[0].steps) == (None, None)
    store.revisions.add(session, chain("a"), origin="human")
    store.revisions.add(session, chain("a", "b", "c"), origin="human")
    assert (store.sessions.listed()[0].topology, store.sessions.listed()[0].steps) == ("chain", 3)
    store.revisions.undo(session)
    assert (store.sessions.listed()[0].topology, store.sessions.listed()[0].steps) == ("single", 1)


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", "a \x00 b", "\ud83d\ude00", "<b>'\"\n\u202e ß"])
def test_any_text_can_be_kept(store: SessionStore, text: str) -> None:
    session = store.sessions.create(text, title=text, pool_label=text)
    assert store.sessions.find(session.id) == session
    assert session.query.encode()
    assert "\x00" not in session.query


@pytest.mark.parametrize("unknown", ["nope", "", "\ud800", "a\x00b", "' OR 1=1 --"])
def test_an_unknown_id_is_named(store: SessionStore, unknown: str) -> None:
    store.sessions.create("q")
    for ask in (
        store.sessions.find,
        store.sessions.delete,
        store.sessions.restore,
        store.plans.of_session,
        store.plans.latest,
        store.plans.find,
        store.revisions.head,
        store.revisions.find,
        store.revisions.of_session,
        store.revisions.neighbours,
        store.revisions.undo,
        store.revisions.redo,
        store.runs.find,
        store.runs.of_session,
        store.runs.latest,
        store.runs.events,
        store.runs.outputs,
    ):
        with pytest.raises(StorageError, match=r"There is no \w+ .* in this store; choose"):
            ask(unknown)


def test_the_default_store_is_the_environments_or_this_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONDUCTOR_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    assert default_url() == f"sqlite:///{own_store()}"
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", "postgresql://host/name")
    assert default_url() == "postgresql://host/name"


@pytest.mark.slow
def test_the_size_counts_what_is_in_the_log_once_however_often_it_was_written(
    store: SessionStore, file: Path
) -> None:
    empty = store.size
    session = store.sessions.create("x" * 100_000).id
    for name in range(100):
        store.sessions.rename(session, f"{name}" * 90)
    log = file.with_name("conductor.db-wal").stat().st_size
    size = store.size
    assert empty + 100_000 < size < log
    assert store.housekeeping.room().bytes == size
    store.close()
    assert file.stat().st_size == size
