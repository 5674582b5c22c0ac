"""Plans and revisions: numbered, never lost, with a head that undo and redo move."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from conductor.errors import EditConflict, StorageError
from conductor.values.messages import Usage
from storage import SessionStore
from tests.support.runs.workflow_cases import workflow_of
from tests.support.stores.store_scenario import INVALID, VALID, begin, chain


def test_plans_come_back_as_they_were_kept(store: SessionStore, session: str) -> None:
    assert store.plans.latest(session) is None
    rejected = store.plans.add(
        session,
        planner="conductor-7b",
        planner_kind="model",
        report=INVALID,
        usage=Usage(prompt_tokens=5),
        seconds=1.5,
    )
    failed = store.plans.add(
        session, planner="c", planner_kind="offline", report=None, failure="no answer", usage=Usage()
    )
    assert (rejected.report, rejected.usage, rejected.seconds) == (INVALID, Usage(prompt_tokens=5), 1.5)
    assert (failed.report, failed.failure, failed.seconds) == (None, "no answer", None)
    assert store.plans.of_session(session) == (rejected, failed)
    assert store.plans.latest(session) == failed
    assert store.plans.find(rejected.id) == rejected


@pytest.mark.slow
def test_a_revision_becomes_the_head_under_the_one_before(store: SessionStore, session: str) -> None:
    assert store.revisions.head(session) is None
    plan = store.plans.add(session, planner="c", planner_kind="model", report=VALID, usage=Usage())
    first = store.revisions.add(session, chain("a"), origin="conductor", plan=plan.id)
    second = store.revisions.add(session, chain("a", "b"), origin="human", note="added a step")
    assert (first.number, first.parent, first.plan) == (1, None, plan.id)
    assert (second.number, second.parent, second.note) == (2, first.id, "added a step")
    assert store.revisions.head(session) == second
    assert store.revisions.of_session(session) == (first, second)
    assert store.sessions.find(session).head == second.id


@pytest.mark.slow
def test_a_plan_and_what_is_made_of_it_are_kept_together_or_not_at_all(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep() -> str:
        return store.plans.add(
            session,
            planner="c",
            planner_kind="model",
            report=VALID,
            usage=Usage(),
            workflow=chain("a"),
            note="Planned",
        ).id

    def full(*_: object, **__: object) -> None:
        raise StorageError("The disk is full.")

    session = store.sessions.create("q").id
    with monkeypatch.context() as patched:
        patched.setattr("storage.tables.revisions.add", full)
        with pytest.raises(StorageError, match="is full"):
            keep()
    assert (store.plans.latest(session), store.sessions.listed()[0].state) == (None, "new")
    plan, head = keep(), store.revisions.head(session)
    assert head is not None
    assert (head.plan, head.origin, head.note, head.workflow) == (plan, "conductor", "Planned", chain("a"))
    assert store.sessions.listed()[0].state == "planned"


@pytest.mark.slow
def test_undo_and_redo_walk_and_an_edit_after_undo_opens_a_branch(store: SessionStore, session: str) -> None:
    assert store.revisions.neighbours(session) == (None, None)
    assert store.revisions.undo(session) is None
    first, second = (store.revisions.add(session, chain(text), origin="human") for text in ("a", "b"))
    assert store.revisions.neighbours(session) == (first, None)
    assert store.revisions.redo(session) is None
    assert store.revisions.undo(session) == first
    assert store.revisions.undo(session) is None
    assert store.revisions.neighbours(session) == (None, second)
    third = store.revisions.add(session, chain("c"), origin="human")
    assert third.parent == first.id
    store.revisions.undo(session)
    assert store.revisions.redo(session) == third
    assert store.revisions.of_session(session) == (first, second, third)


def test_redo_leads_to_what_was_undone_and_not_to_a_branch_that_came_meanwhile(
    store: SessionStore, session: str
) -> None:
    root, *mine = (store.revisions.add(session, chain(text), origin="human") for text in "abc")

    def branch(under: str) -> None:
        store.revisions.add(session, chain("theirs"), origin="human", parent=under, moves_head=False)

    branch(root.id)
    branch(mine[0].id)
    branch(mine[1].id)
    assert store.revisions.redo(session) is None, "nothing was undone"
    assert [store.revisions.undo(session), store.revisions.undo(session)] == [mine[0], root]
    branch(root.id)
    assert [store.revisions.redo(session), store.revisions.redo(session)] == mine
    assert store.revisions.redo(session) is None


@pytest.mark.slow
def test_an_edit_may_start_from_any_revision_of_its_session(store: SessionStore, session: str) -> None:
    first, _ = (store.revisions.add(session, chain(text), origin="human") for text in ("a", "b"))
    assert store.revisions.add(session, chain("c"), origin="import", parent=first.id).parent == first.id


@pytest.mark.parametrize(
    ("note", "match"), [("Step 2 removed", r"\(revision 2: Step 2 removed\)"), ("", r"\(revision 2\)")]
)
def test_an_edit_of_what_is_the_head_no_more_is_refused(
    store: SessionStore, session: str, note: str, match: str
) -> None:
    seen = store.revisions.add(session, chain("a", "b"), origin="human")
    theirs = store.revisions.add(session, chain("a"), origin="human", note=note, expected=seen.id)
    before = store.sessions.find(session)
    with pytest.raises(EditConflict, match=rf"changed in the meantime {match}; your edit was not applied"):
        store.revisions.add(session, chain("mine"), origin="human", expected=seen.id)
    assert store.revisions.of_session(session) == (seen, theirs)
    assert store.sessions.find(session) == before


@pytest.mark.slow
def test_of_edits_that_threads_make_of_one_revision_only_one_is_kept(
    store: SessionStore, session: str
) -> None:
    seen = store.revisions.add(session, chain("a"), origin="human")

    def edit(name: str) -> bool:
        try:
            store.revisions.add(session, chain(name), origin="human", expected=seen.id)
        except EditConflict:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(edit, "abcdefgh")) == 1
    assert len(store.revisions.of_session(session)) == 2


@pytest.mark.slow
def test_another_sessions_rows_are_refused(store: SessionStore) -> None:
    mine, theirs = store.sessions.create("mine").id, store.sessions.create("theirs").id
    revision = store.revisions.add(theirs, chain("a"), origin="human").id
    plan = store.plans.add(theirs, planner="c", planner_kind="model", report=VALID, usage=Usage()).id
    with pytest.raises(StorageError, match=r"The revision .* belongs to the session"):
        store.revisions.add(mine, chain("a"), origin="human", parent=revision)
    with pytest.raises(StorageError, match=r"The plan .* belongs to the session"):
        store.revisions.add(mine, chain("a"), origin="human", plan=plan)
    with pytest.raises(StorageError, match=r"The revision .* belongs to the session"):
        store.runs.start(run="r", session=mine, revision=revision)
    assert store.revisions.of_session(mine) == ()
    assert store.sessions.find(mine).head is None


def test_a_workflow_with_unstorable_text_is_kept_with_it_replaced(store: SessionStore, session: str) -> None:
    head = store.revisions.add(session, chain("a \ud800 \x00 \ud83d\ude00"), origin="human", note="\ud800")
    assert head.workflow == chain("a \ufffd \x00 😀")
    assert head.note == "\ufffd"
    assert store.revisions.find(head.id) == head


@pytest.mark.slow
def test_an_edit_and_a_run_move_the_session_up_the_list(store: SessionStore, session: str) -> None:
    times = [store.sessions.find(session).updated_at]
    for change in (
        lambda: store.revisions.add(session, chain("a"), origin="human"),
        lambda: store.revisions.add(session, chain("b"), origin="human"),
        lambda: store.revisions.undo(session),
        lambda: store.revisions.redo(session),
        lambda: begin(store, session, "r"),
    ):
        change()
        times.append(store.sessions.find(session).updated_at)
    assert times == sorted(set(times))


def test_an_imported_workflow_is_kept_with_its_session_or_not_at_all(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = workflow_of((), worker="a")
    session = store.revisions.import_workflow("What is it?", workflow, pool_label="a pool")
    head = store.revisions.head(session.id)
    assert head is not None
    assert (session.origin, session.head, head.origin, head.workflow) == (
        "import",
        head.id,
        "import",
        workflow,
    )

    def broken(*_: object, **__: object) -> None:
        raise StorageError("The store is full.")

    monkeypatch.setattr("storage.tables.revisions.add", broken)
    with pytest.raises(StorageError, match="full"):
        store.revisions.import_workflow("And now?", workflow)
    assert store.sessions.count() == 1
