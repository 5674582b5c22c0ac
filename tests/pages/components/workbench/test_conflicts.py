"""An edit that met another person's, on the page: who changed what, and the ways on, each taken once."""

from __future__ import annotations

import pytest

from pages.components.tab.edit_memory import EditAside
from studio.sessions.notes import AUTHOR
from tests.support.runs.used_by import used_by

POOL = """
[[worker]]
name = "alpha"
kind = "simulated"
tokens = 4

[[worker]]
name = "beta"
kind = "simulated"
tokens = 4

[[worker]]
name = "slow"
kind = "simulated"
latency = 30.0
"""


@pytest.fixture(autouse=True)
def pool_file(tmp_path, monkeypatch):
    """The app's pool has the workers of the workbench beside it."""
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "pool.toml"))


@pytest.fixture
def base(bench, session):
    """The revision that this tab was drawn with."""
    return bench.store.revisions.head(session)


@pytest.fixture
def met(app, bench, session, base, three):
    """Opens the app in a tab whose edit, another worker for step 1, met the workflow `theirs`."""

    def opened(theirs):
        used_by(bench, "Grace").editing.edit(session, theirs, note="Theirs")
        mine = EditAside(session, base, three.with_worker(0, "beta"), "Step 1: alpha to beta")
        page = app(session=session)
        page.session_state["aside"] = (mine,)
        return page.run()

    return opened


def texts(page):
    return [element.value.replace("\\", "") for element in (*page.markdown, *page.caption, *page.info)]


def has(page, key):
    return any(button.key == key for button in page.button)


def test_an_edit_made_in_the_meantime_is_offered_with_who_changed_what(app, bench, session, three):
    page = app(session=session)
    page.session_state["selected"] = 0
    page.run()
    used_by(bench, "Grace").editing.edit(session, three.with_worker(1, "alpha"), note="Step 2: beta to alpha")
    page.selectbox(key=f"worker-{session}-0").set_value("beta").run()
    assert not page.exception
    lines = texts(page)
    assert any("the workflow was changed in the meantime" in text for text in lines)
    assert "**Yours:** Step 1: alpha to beta" in lines
    assert "**Meanwhile:** Step 2: beta to alpha" in lines
    assert any(text.startswith("Revision 2, by Grace, ") for text in lines)
    assert bench.store.revisions.head(session).note == "Step 2: beta to alpha"
    assert page.selectbox(key=f"worker-{session}-0").value == "alpha"


def test_on_top_both_edits_are_the_workflow(met, bench, session, three, monkeypatch):
    monkeypatch.setenv(AUTHOR, "Ada")
    page = met(three.with_worker(1, "alpha"))
    page.button(key="conflict-apply").click().run()
    head = bench.store.revisions.head(session)
    assert head.workflow == three.with_worker(1, "alpha").with_worker(0, "beta")
    assert (head.note, head.author) == ("Step 1: alpha to beta, on top of revision 2", "Ada")
    assert not has(page, "conflict-apply")


def test_what_cannot_be_applied_on_top_states_why(met, bench, session, three):
    page = met(three.remove_step(0))
    assert page.button(key="conflict-apply").disabled
    assert any("You changed “1. Find it”, which was removed in the meantime." in text for text in texts(page))


@pytest.mark.parametrize(
    ("key", "leads"), [("conflict-branch", False), ("conflict-switch", True)], ids=["stays", "moves"]
)
def test_a_branch_is_a_revision_under_what_was_edited(met, bench, base, key, leads):
    session, three = base.session, base.workflow
    page = met(three.with_worker(0, "slow"))
    page.button(key=key).click().run()
    branch = bench.store.revisions.of_session(session)[-1]
    assert (branch.parent, branch.workflow) == (base.id, three.with_worker(0, "beta"))
    assert (bench.store.revisions.head(session) == branch) == leads
    assert len(bench.store.revisions.of_session(session)) == 3
    assert not has(page, key)


def test_a_discarded_edit_is_gone(met, bench, session, three):
    page = met(three.with_worker(0, "slow"))
    page.button(key="conflict-discard").click().run()
    assert not has(page, "conflict-discard")
    assert len(bench.store.revisions.of_session(session)) == 2


@pytest.mark.thorough
def test_a_decision_about_an_older_state_is_asked_for_once_more(met, bench, session, three):
    page = met(three.with_worker(1, "alpha"))
    bench.editing.edit(session, three.with_worker(1, "slow"), note="Once more")
    page.button(key="conflict-apply").click().run()
    assert bench.store.revisions.head(session).note == "Once more"
    assert "changed again" in page.error[0].value
    page.button(key="conflict-apply").click().run()
    assert bench.store.revisions.head(session).workflow == three.with_worker(1, "slow").with_worker(0, "beta")


def test_an_edit_that_another_person_made_as_well_can_only_be_dropped(met, bench, session, three):
    page = met(three.with_worker(0, "beta"))
    assert not has(page, "conflict-apply")
    assert any("The same change was made in the meantime" in text for text in texts(page))


def test_an_undone_revision_is_reported_as_undone(app, bench, session, base, three):
    edited = bench.editing.edit(session, three.with_worker(1, "alpha"), note="Theirs")
    page = app(session=session)
    bench.store.revisions.undo(session)
    mine = edited.workflow.with_worker(0, "beta")
    page.session_state["aside"] = (EditAside(session, edited, mine, "Mine"),)
    page.run()
    assert "**Meanwhile:** back to revision 1" in texts(page)
    assert "Revision 2 undone." in texts(page)
    assert any("Revision 1 is the current one again" in toast.value.replace("\\", "") for toast in page.toast)


@pytest.mark.thorough
def test_an_edit_aside_waits_in_its_own_tab_and_session_only(met, app, bench, session, three):
    met(three.with_worker(1, "alpha"))
    other = app(session=session)
    assert not has(other, "conflict-discard")
    page = met(three.with_worker(1, "slow"))
    page.button(key="new").click().run()
    assert not has(page, "conflict-discard")
    page.query_params["session"] = session
    page.run()
    assert has(page, "conflict-discard")


def test_what_this_tab_has_not_shown_yet_is_not_run(app, bench, session, three):
    page = app(session=session)
    bench.editing.edit(session, three.with_worker(1, "alpha"), note="Theirs")
    page.button(key="run").click().run()
    assert bench.store.runs.of_session(session) == ()
    assert any("revision 2 was just made elsewhere" in text for text in texts(page))
    page.button(key="run").click().run()
    assert len(bench.store.runs.of_session(session)) == 1
