"""Whether a response whose server died has ended, or goes on by itself in a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.api.stored import visible
from studio.api.stored.visible import IN_PROGRESS, ResponseOrigin, StoredResponse, is_abandoned
from tests.support.runs.broken_off import broken_off, opened


@pytest.mark.slow
def test_for_a_moment_another_server_may_go_on_with_a_response_unless_it_is_set_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'conductor.db'}"
    session = broken_off(url, monkeypatch)
    response = StoredResponse(session, {"status": IN_PROGRESS, "created_at": 0.0}, ResponseOrigin(owner="o"))
    with opened(url) as bench:
        assert is_abandoned(bench.store, response)
        monkeypatch.setenv("CONDUCTOR_RESUME", "on")
        monkeypatch.setattr(visible, "SOON", 3600.0)
        assert not is_abandoned(bench.store, response)
        monkeypatch.setattr(visible, "SOON", 0.0)
        assert is_abandoned(bench.store, response)
        monkeypatch.setattr(visible, "SOON", 3600.0)
        bench.running.start(session)
        bench.activities.wait(session)
        assert is_abandoned(bench.store, response), "the run has ended, and no server that lives answers"
