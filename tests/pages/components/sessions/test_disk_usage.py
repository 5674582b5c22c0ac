"""The foot of the sessions page: what the store takes, and the dialog that removes what is deleted."""

from __future__ import annotations

import pytest

from pages.components.sessions.list_state import Deleted
from pages.components.tab import services
from pages.components.tab.state import plain
from storage import SessionStore

HOSTILE = '<img src=x onerror="alert(1)"> **b** [l](http://a.b)'


def foot(page):
    return next(caption.value for caption in page.caption if " in " in caption.value and "B" in caption.value)


def opened(page):
    return page.button(key="clean-up").click().run()


def test_the_foot_states_what_the_store_takes_and_what_is_deleted(app, bench, session):
    assert "kB in 1 session" in foot(app("sessions"))
    bench.store.sessions.delete(session)
    text = foot(app("sessions"))
    assert "kB in 0 sessions · 1 deleted session · about " in text
    assert text.endswith("can be freed")


def test_the_foot_has_a_forecast_where_age_deletes(app, bench, session, monkeypatch):
    assert "will be deleted" not in foot(app("sessions"))
    monkeypatch.setenv("CONDUCTOR_DELETE_AFTER_DAYS", "5")
    text = foot(app("sessions"))
    assert text.endswith("1 session will be deleted in the next 7 days, 5 days after the last change")
    bench.store.sessions.add_tag(session, "keep")
    assert "will be deleted" not in foot(app("sessions"))


def test_what_goes_is_stated_and_goes_when_that_is_confirmed(app, bench, session):
    gone = bench.ask(HOSTILE).id
    bench.store.sessions.delete(gone)
    page = opened(app("sessions"))
    assert not page.exception
    assert any(plain(HOSTILE, limit=90) in text.value for text in page.markdown)
    page.button(key="clean-up-now").click().run()
    assert not page.exception
    assert page.info[0].value.startswith("Removed 1 session for good")
    assert "clean-up-now" not in [button.key for button in page.button]
    assert bench.store.sessions.named(gone) == ()
    assert bench.store.sessions.find(session).deleted_at is None


def test_what_was_deleted_lately_can_be_kept(app, bench, session):
    bench.store.sessions.delete(session)
    page = opened(app("sessions"))
    assert page.button(key="clean-up-now").label == "Remove 1 session for good"
    page.checkbox(key="cleaning-keeps").check().run()
    assert page.button(key="clean-up-now").label == "Free unused room"
    page.button(key="clean-up-now").click().run()
    assert bench.store.sessions.named(session) == (session,)


def test_what_is_deleted_while_the_dialog_is_open_stays(app, bench, session):
    page = opened(app("sessions"))
    bench.store.sessions.delete(session)
    page.button(key="clean-up-now").click().run()
    assert page.info[0].value.startswith("The store takes")
    assert bench.store.sessions.named(session) == (session,)


def test_nothing_goes_when_it_is_cancelled(app, bench, session):
    bench.store.sessions.delete(session)
    page = opened(app("sessions"))
    page.button(key="clean-up-cancel").click().run()
    assert "clean-up-now" not in [button.key for button in page.button]
    assert bench.store.sessions.named(session) == (session,)


def test_what_is_deleted_goes_while_something_runs(app, bench, session):
    gone = bench.ask("Gone?").id
    bench.store.sessions.delete(gone)
    page = opened(app("sessions"))
    bench.store.runs.start(run="n1", session=session, revision=bench.store.revisions.head(session).id)
    page.button(key="clean-up-now").click().run()
    assert page.info[0].value.startswith("Removed 1 session for good")
    assert bench.store.sessions.named(gone) == ()
    assert bench.store.runs.find("n1").status == "running"


def test_a_removed_session_is_open_no_more_and_its_undo_is_gone(app, bench, session):
    bench.store.sessions.delete(session)
    page = app("sessions")
    page.session_state["session"] = session
    page.session_state["session-list"].deleted = Deleted((session,), "Which one?")
    page = opened(page.run())
    assert "undelete" in [button.key for button in page.button]
    page.button(key="clean-up-now").click().run()
    assert not page.exception
    assert page.session_state["session"] is None
    assert "undelete" not in [button.key for button in page.button]


@pytest.mark.parametrize(("days", "is_offered"), [("0", False), ("7", True)])
@pytest.mark.usefixtures("session")
def test_a_store_without_retention_keeps_nothing_back(app, monkeypatch, days, is_offered):
    monkeypatch.setenv("CONDUCTOR_RETENTION_DAYS", days)
    page = opened(app("sessions"))
    assert ("cleaning-keeps" in [box.key for box in page.checkbox]) == is_offered


def test_what_was_deleted_long_ago_goes_when_the_app_starts(app, bench, url):
    with SessionStore.open(url, clock=lambda: 1000.0) as long_ago:
        gone = long_ago.sessions.create("Gone?").id
        long_ago.sessions.delete(gone)
    lately = bench.ask("Lately?").id
    bench.store.sessions.delete(lately)
    assert not app("sessions").exception
    services.services().tidying.join(timeout=60)
    assert bench.store.sessions.named("") == (lately,)
