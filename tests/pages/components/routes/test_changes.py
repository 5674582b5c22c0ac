"""Where a browser asks whether its page is still what is there."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.components.routes.changes import CHANGES, ENDING, PATH
from pages.components.tab import services


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


def test_a_page_that_is_not_looked_at_asks_how_a_run_ended(client, bench, session):
    asked = {"session": session}
    assert client.get(ENDING, params=asked).json() == {"moves": False, "state": "planned"}
    bench.running.start(session)
    bench.activities.wait(session)
    assert client.get(ENDING, params=asked).json() == {"moves": False, "state": "finished"}
    assert client.get(f"/below{ENDING}", params=asked).json()["state"] == "finished"


def test_where_the_store_cannot_be_read_nothing_is_said(client, monkeypatch, tmp_path):
    services.close()
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", f"sqlite:///{tmp_path}")
    assert client.get(PATH).json() == {}
    assert client.get(ENDING).json() == {}
