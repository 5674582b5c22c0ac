"""Where a browser asks whether its page is still what is there, and what a conflict leaves for a tab."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components.routes.changes import CHANGES, PATH
from pages.components.tab import services
from pages.components.tab.edit_memory import TABS, EditAside, EditsAside


@pytest.fixture
def client(app):
    """Asks a server over the same store."""
    with TestClient(Starlette(routes=CHANGES)) as client:
        yield client


def test_the_answer_is_two_marks_that_change_with_the_session(client, bench, session, three):
    before = client.get(PATH, params={"session": session}).json()
    assert client.get(PATH, params={"session": session}).json() == before
    bench.editing.edit(session, three.with_worker(0, "beta"), note="Step 1")
    after = client.get(PATH, params={"session": session}).json()
    assert (after["session"] != before["session"], after["recent"]) == (True, before["recent"])
    assert client.get(PATH).json()["session"] == client.get(f"/below{PATH}").json()["session"] == ""


def test_where_the_store_cannot_be_read_nothing_is_said(client, monkeypatch, tmp_path):
    services.close()
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path}")
    assert client.get(PATH).json() == {}


@pytest.fixture
def edit(bench, session, three):
    """Makes an edit of the session that was not applied."""
    head = bench.store.revisions.head(session)
    return lambda note="Mine": EditAside(session, head, three.with_worker(0, "beta"), note)


def test_edits_wait_in_order_until_each_is_settled(edit, session):
    aside, first, second = EditsAside(), edit("One"), edit("Two")
    key = aside.lay(None, first)
    assert aside.lay(key, second) == key
    assert aside.of(key, session) == (first, second)
    for settled, left in ((first, (second,)), (first, (second,)), (second, ())):
        aside.settle(key, settled)
        assert aside.of(key, session) == left


def test_edits_are_of_one_tab_and_one_session(edit, session):
    aside = EditsAside()
    key = aside.lay(None, edit())
    assert aside.of(None, session) == aside.of("another", session) == aside.of(key, "another") == ()
    aside.settle(None, edit())
    assert len(aside.of(key, session)) == 1


def test_the_tab_that_was_longest_without_an_edit_is_forgotten_first(edit, session):
    aside = EditsAside()
    keys = [aside.lay(None, edit()) for _ in range(TABS)]
    aside.lay(keys[0], edit())
    aside.lay(None, edit())
    assert aside.of(keys[1], session) == ()
    assert len(aside.of(keys[0], session)) == 2
