"""A server of the browser tests that does not come is one error, and is not left running."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import app_server
from tests.browser.app_server import AppServer

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_a_server_that_ends_is_an_error_at_once_with_what_it_has_logged(tmp_path: Path) -> None:
    server = AppServer(tmp_path, script="nowhere.py")
    with pytest.raises(AssertionError, match=r"nowhere\.py"):
        server.start()


def test_a_server_that_does_not_answer_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_server, "START", 0.1)
    server = AppServer(tmp_path)
    with pytest.raises(AssertionError, match=r"no answer in 0 s"):
        server.start()
    assert server._process is not None
    assert server._process.returncode is not None
