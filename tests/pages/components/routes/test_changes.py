"""Where a browser asks whether its page is still what is there."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components.routes.changes import ENDING, PATH, changes
from pages.components.tab import services
from studio.access.login import VIEWED


@pytest.fixture
def client(app):
    """Asks a server over the same store."""
    with TestClient(Starlette(routes=[*changes(""), *changes("below")])) as client:
        yield client


def test_the_answer_is_two_marks_that_change_with_the_session(client, bench, session, three):
    before = client.get(PATH, params={"session": session}).json()
    assert client.get(PATH, params={"session": session}).json() == before
    bench.editing.edit(session, three.with_worker(0, "beta"), note="Step 1")
    after = client.get(PATH, params={"session": session}).json()
    assert (after["session"] != before["session"], after["recent"]) == (True, before["recent"])
    assert client.get(PATH).json()["session"] == client.get(f"/below{PATH}").json()["session"] == ""


def test_a_page_that_is_not_looked_at_asks_how_a_run_ended(client, bench, session):
    parameters = {"session": session}
    assert client.get(ENDING, params=parameters).json() == {"moves": False, "state": "planned"}
    bench.running.start(session)
    bench.activities.wait(session)
    assert client.get(ENDING, params=parameters).json() == {"moves": False, "state": "finished"}
    assert client.get(f"/below{ENDING}", params=parameters).json()["state"] == "finished"


def test_where_the_store_cannot_be_read_nothing_is_stated(client, monkeypatch, tmp_path):
    services.close()
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path}")
    assert client.get(PATH).json() == {}
    assert client.get(ENDING).json() == {}


def test_who_may_look_at_some_sessions_is_answered_about_no_other(client, session):
    for path in (PATH, ENDING):
        own, other = ({VIEWED: f"0123456789abcdef,{named}"} for named in (session, "fedcba9876543210"))
        assert client.get(path, params={"session": session}, headers=own).json() != {}
        assert client.get(path, params={"session": session}, headers=other).json() == {}
        assert client.get(path, headers=own).json() == {}


def test_no_other_path_is_answered(client):
    for path in (f"/v1{PATH}", f"/v1/any{ENDING}", f"/any{PATH}", f"/below/any{PATH}"):
        assert client.get(path).status_code == 404
