"""A server that starts goes on with what the app ran in a process that ended."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from studio.access.auth import TokenAuthenticator
from studio.api.app import api
from studio.api.serving.server import ApiServer
from tests.support.runs.broken_off import broken_off, opened
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
