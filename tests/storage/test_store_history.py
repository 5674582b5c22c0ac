"""Revisions as a tree: branches beside the head, what is restored, and heads that somebody else moved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from store_scenario import VALID, begin, chain

from conductor.errors import EditConflict, StorageError
from conductor.messages import Usage
from storage import SessionStore


def test_a_branch_is_kept_under_what_was_edited_and_leaves_the_head(store: SessionStore) -> None:
    session = store.create_session("q").id
    edited = store.add_revision(session, chain("a"), origin="human")
    theirs = store.add_revision(session, chain("b"), origin="human")
    branch = store.add_revision(
        session, chain("c"), origin="human", parent=edited.id, author="Ada", moves_head=False
    )
    assert (branch.parent, branch.author) == (edited.id, "Ada")
    assert store.head(session) == theirs
    assert store.revisions(session) == (edited, theirs, branch)


def test_the_first_revision_becomes_the_head_in_any_case(store: SessionStore) -> None:
    session = store.create_session("q").id
    assert store.add_revision(session, chain("a"), origin="human", moves_head=False) == store.head(session)


@pytest.mark.parametrize(
    ("move", "said"), [(SessionStore.undo, "nothing was undone"), (SessionStore.redo, "nothing was redone")]
)
def test_a_head_that_somebody_else_moved_is_left_alone(
    store: SessionStore, move: Callable[..., object], said: str
) -> None:
    session = store.create_session("q").id
    drawn = store.add_revision(session, chain("a"), origin="human")
    theirs = store.add_revision(session, chain("b"), origin="human", note="Step 2", author="Grace")
    before = store.session(session)
    with pytest.raises(EditConflict, match=rf"revision 2 by Grace: Step 2\); {said}"):
        move(store, session, expected=drawn.id)
    assert store.session(session) == before
    move(store, session, expected=theirs.id)


def test_a_history_is_the_revisions_without_their_workflows(store: SessionStore) -> None:
    session = store.create_session("q").id
    assert store.history(session) == ()
    store.add_revision(session, chain("a"), origin="conductor", note="Planned")
    store.add_revision(session, chain("a", "b"), origin="human", author="Ada")
    for revision, entry in zip(store.revisions(session), store.history(session), strict=True):
        beside = {"topology": revision.workflow.topology, "steps": len(revision.workflow)}
        assert entry.model_dump() == revision.model_dump(exclude={"workflow", "session", "plan"}) | beside


def test_what_is_restored_is_run_in_its_own_round_and_edits_its_own_plan(store: SessionStore) -> None:
    session = store.create_session("q").id
    plans = [store.add_plan(session, planner="c", planner_kind="model", report=VALID, usage=Usage(), round=1)]
    first = store.add_revision(session, chain("a"), origin="conductor", plan=plans[0].id)
    begin(store, session, "run-1")
    later = store.add_plan(
        session,
        planner="c",
        planner_kind="model",
        report=VALID,
        usage=Usage(),
        round=2,
        looks_back=store.runs(session)[0].id,
    )
    second = store.add_revision(session, chain("b"), origin="conductor", plan=later.id)
    assert second.looks_back is not None
    restored = store.add_revision(session, first.workflow, origin="human", restores=first.id)
    assert (restored.parent, restored.looks_back) == (second.id, None)
    assert store.planned(restored.id) == first


def test_only_a_revision_of_the_session_is_restored(store: SessionStore) -> None:
    mine, theirs = store.create_session("mine").id, store.create_session("theirs").id
    other = store.add_revision(theirs, chain("a"), origin="human")
    with pytest.raises(StorageError, match=r"The revision .* belongs to the session"):
        store.add_revision(mine, other.workflow, origin="human", restores=other.id)
