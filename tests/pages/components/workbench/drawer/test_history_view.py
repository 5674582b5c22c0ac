"""The history panel: who made each revision, what was run of it, and what can be done with one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pages.components.view_models.revision_text import RevisionRow, revision_rows
from studio.workbench.comparison.revision_tests import Passed
from tests.support.runs.used_by import used_by


def rows(bench, session):
    store = bench.store
    return revision_rows(
        store.revisions.history(session),
        store.runs.of_session(session),
        head=store.sessions.find(session).head,
        redo=store.revisions.redo_targets(session),
    )


@pytest.mark.slow
def test_a_row_states_what_was_done_by_whom_and_what_was_run(bench, session, three):
    assert bench.running.start(session).done.wait(60)
    used_by(bench, "Ada").editing.edit(session, three.with_worker(0, "beta"), note="Step 1: alpha to beta")
    newest, first = rows(bench, session)
    assert (newest.note, newest.facts[0], newest.standing) == ("Step 1: alpha to beta", "by Ada", "current")
    assert newest.facts[2] == "general, 3 steps"
    assert (first.note, first.facts[0], first.standing) == ("By hand", "by a person", "")
    assert (newest.runs, first.runs) == ((), ("Run 1 finished",))


@pytest.mark.slow
def test_what_redo_leads_to_is_undone_and_what_is_beside_it_a_branch(bench, session, three):
    for worker in ("beta", "slow"):
        bench.editing.edit(session, three.with_worker(0, worker), note=worker)
        bench.store.revisions.undo(session)
    assert [row.standing for row in rows(bench, session)] == ["undone", "branch", "current"]


def test_a_row_counts_the_tests_it_passes_and_names_those_that_are_open():
    def row(*counts):
        entry = SimpleNamespace()
        return RevisionRow(entry, None, head=True, runs=(), tested=Passed(*counts) if counts else None)

    assert (row().tests, row().tests_in_words) == ((), "")
    assert row(7, 1, 0, 0).tests == ("7/8 tests",)
    assert row(7, 1, 0, 0).tests_in_words == "7 of 8 tests passed"
    assert row(1, 0, 0, 0).tests == ("1/1 test",)
    assert row(0, 0, 1, 0).tests == ("1 test open",)
    assert row(0, 0, 1, 0).tests_in_words == "1 answered and not judged"
    assert row(2, 1, 1, 4).tests == ("2/3 tests", "5 tests open")
    assert row(2, 1, 1, 4).tests_in_words == (
        "2 of 3 tests passed, 1 answered and not judged, 4 not asked of this revision"
    )


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
