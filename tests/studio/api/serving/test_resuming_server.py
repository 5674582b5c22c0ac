"""A server that starts goes on with what the app ran in a process that ended."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from conductor.runs.request import Asker, RunRequest
from storage import SessionStore
from storage.records import RequestSession
from studio.access.auth import TokenAuthenticator
from studio.api.answers.responses import opening_shape
from studio.api.app import api
from studio.api.requests.responses_request import ResponsesRequest
from studio.api.serving.server import ApiServer
from studio.api.stored.visible import ResponseOrigin
from tests.support.runs.broken_off import STEPS, broken_off, opened
from tests.support.runs.waiting import until


@pytest.mark.slow
@pytest.mark.parametrize("on", [True, False])
def test_a_server_goes_on_with_a_run_of_the_app_unless_it_is_set_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, on: bool
) -> None:
    monkeypatch.setenv("CONDUCTOR_RESUME", "on" if on else "off")
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    session = broken_off(url, monkeypatch)
    with opened(url) as bench:
        auth = TokenAuthenticator(lambda: bench.store.tokens, machine=lambda: None)
        server = ApiServer(api(lambda: bench, auth))
        thread = Thread(target=server.run, name="api", daemon=True)
        thread.start()
        assert server.ready.wait(60)
        if on:
            until(lambda: bench.store.runs.of_session(session)[0].status == "finished")
        server.should_exit = True
        thread.join(60)
        statuses = [run.status for run in bench.store.runs.of_session(session)]
    assert statuses == (["finished", "interrupted"] if on else ["interrupted"])


@pytest.mark.slow
@pytest.mark.parametrize("reran", [True, False])
@pytest.mark.parametrize("has_token", [True, False])
def test_a_response_goes_on_for_who_began_it_or_ran_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_token: bool, reran: bool
) -> None:
    monkeypatch.setenv("CONDUCTOR_RESUME", "on")
    url, session = f"sqlite:///{tmp_path / 'conductor.db'}", "0123456789abcdef"
    opening = opening_shape(ResponsesRequest.read(b'{"model": "conductor", "input": "Why?"}'), started_at=1.0)
    with SessionStore.open(url) as store:
        by = Asker(token=store.tokens.create("lab")[0].id) if has_token else Asker(person="Grace")
        stored_as = RequestSession(token=by.token, response=ResponseOrigin().beside(opening))
        store.requests.begin(RunRequest("Why?"), session=session, stored_as=stored_as).result()
        store.revisions.add(session, STEPS, origin="human")
    broken_off(url, monkeypatch, session=session, by=by)
    if reran:
        by = Asker(person="Ada")
        broken_off(url, monkeypatch, session=session, by=by)
    with opened(url) as bench:
        auth = TokenAuthenticator(lambda: bench.store.tokens, machine=lambda: None)
        server = ApiServer(api(lambda: bench, auth))
        thread = Thread(target=server.run, name="api", daemon=True)
        thread.start()
        assert server.ready.wait(60)
        until(lambda: bench.store.runs.of_session(session)[0].status == "finished")
        server.should_exit = True
        thread.join(60)
        newest = bench.store.runs.of_session(session)[0]
    assert Asker(token=newest.token, person=newest.person) == by
