"""Revisions as a tree: branches beside the head, what is restored, and heads that another person moved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conductor.errors import EditConflict, StorageError
from conductor.values.messages import Usage
from storage import SessionStore
from storage.store.parts import Revisions
from tests.support.stores.store_scenario import VALID, begin, chain


@pytest.mark.slow
def test_a_branch_is_kept_under_what_was_edited_and_leaves_the_head(
    store: SessionStore, session: str
) -> None:
    edited = store.revisions.add(session, chain("a"), origin="human")
    theirs = store.revisions.add(session, chain("b"), origin="human")
    branch = store.revisions.add(
        session, chain("c"), origin="human", parent=edited.id, author="Ada", moves_head=False
    )
    assert (branch.parent, branch.author) == (edited.id, "Ada")
    assert store.revisions.head(session) == theirs
    assert store.revisions.of_session(session) == (edited, theirs, branch)


@pytest.mark.slow
def test_the_first_revision_becomes_the_head_in_any_case(store: SessionStore, session: str) -> None:
    assert store.revisions.add(session, chain("a"), origin="human", moves_head=False) == store.revisions.head(
        session
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "expected"), [(Revisions.undo, "nothing was undone"), (Revisions.redo, "nothing was redone")]
)
def test_a_head_that_another_person_moved_is_left_alone(
    store: SessionStore, session: str, move: Callable[..., object], expected: str
) -> None:
    revision = store.revisions.add(session, chain("a"), origin="human")
    theirs = store.revisions.add(session, chain("b"), origin="human", note="Step 2", author="Grace")
    before = store.sessions.find(session)
    with pytest.raises(EditConflict, match=rf"revision 2 by Grace: Step 2\); {expected}"):
        move(store.revisions, session, expected=revision.id)
    assert store.sessions.find(session) == before
    move(store.revisions, session, expected=theirs.id)


@pytest.mark.slow
def test_a_history_is_the_revisions_without_their_workflows(store: SessionStore, session: str) -> None:
    assert store.revisions.history(session) == ()
    store.revisions.add(session, chain("a"), origin="conductor", note="Planned")
    store.revisions.add(session, chain("a", "b"), origin="human", author="Ada")
    for revision, entry in zip(
        store.revisions.of_session(session), store.revisions.history(session), strict=True
    ):
        beside = {"topology": revision.workflow.topology, "steps": len(revision.workflow)}
        assert entry.model_dump() == revision.model_dump(exclude={"workflow", "session", "plan"}) | beside


@pytest.mark.slow
def test_what_is_restored_is_run_in_its_own_round_and_edits_its_own_plan(
    store: SessionStore, session: str
) -> None:
    plans = [
        store.plans.add(session, planner="c", planner_kind="model", report=VALID, usage=Usage(), round=1)
    ]
    first = store.revisions.add(session, chain("a"), origin="conductor", plan=plans[0].id)
    begin(store, session, "run-1")
    later = store.plans.add(
        session,
        planner="c",
        planner_kind="model",
        report=VALID,
        usage=Usage(),
        round=2,
        looks_back=store.runs.of_session(session)[0].id,
    )
    second = store.revisions.add(session, chain("b"), origin="conductor", plan=later.id)
    assert second.looks_back is not None
    restored = store.revisions.add(session, first.workflow, origin="human", restores=first.id)
    assert (restored.parent, restored.looks_back) == (second.id, None)
    assert store.revisions.planned(restored.id) == first


def test_only_a_revision_of_the_session_is_restored(store: SessionStore) -> None:
    mine, theirs = store.sessions.create("mine").id, store.sessions.create("theirs").id
    other = store.revisions.add(theirs, chain("a"), origin="human")
    with pytest.raises(StorageError, match=r"The revision .* belongs to the session"):
        store.revisions.add(mine, other.workflow, origin="human", restores=other.id)
