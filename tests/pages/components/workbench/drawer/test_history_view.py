"""The history panel: who made each revision, what was run of it, and what can be done with one."""

from __future__ import annotations

import pytest

from pages.components.view_models.revision_text import revision_rows


def rows(bench, session):
    store = bench.store
    return revision_rows(
        store.revisions.history(session),
        store.runs.of_session(session),
        head=store.sessions.find(session).head,
    )


def test_a_row_says_what_was_done_by_whom_and_what_was_run(bench, session, three):
    assert bench.running.start(session).done.wait(10)
    bench.editing.edit(session, three.with_worker(0, "beta"), note="Step 1: alpha to beta", author="Ada")
    newest, first = rows(bench, session)
    assert (newest.note, newest.facts[0], newest.standing) == ("Step 1: alpha to beta", "by Ada", "current")
    assert newest.facts[2] == "general, 3 steps"
    assert (first.note, first.facts[0], first.standing) == ("By hand", "by a person", "")
    assert (newest.runs, first.runs) == ((), ("Run 1 finished",))


def test_what_redo_leads_to_is_undone_and_what_is_beside_it_a_branch(bench, session, three):
    for worker in ("beta", "slow"):
        bench.editing.edit(session, three.with_worker(0, worker), note=worker)
        bench.store.revisions.undo(session)
    assert [row.standing for row in rows(bench, session)] == ["undone", "branch", "current"]


@pytest.fixture
def page(app, bench, session, three):
    """The workbench with the history of two revisions, drawn."""
    bench.editing.edit(session, three.with_worker(0, "beta"), note="Step 1: alpha to beta")
    page = app(session=session)
    page.session_state["panel"] = "History"
    return page.run()


def test_the_current_revision_is_selected_first_and_cannot_be_restored(page):
    assert not page.exception
    assert page.button(key="history-restore").disabled
    assert page.button(key="history-restore").help == "This is the current revision"
