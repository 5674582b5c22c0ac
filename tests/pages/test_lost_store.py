"""Pages over a store whose file was removed while the app had it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.conftest import App

GONE = "was removed, moved or replaced"


@pytest.mark.parametrize("page", ["workbench", "sessions"])
def test_a_page_shows_that_the_store_is_gone(app: App, session: str, tmp_path: Path, page: str) -> None:
    view = app(page, session)
    assert not any(GONE in error.value for error in view.error)
    (tmp_path / "conductor.db").unlink()
    view.run()
    assert not view.exception
    assert any(GONE in error.value for error in view.error)
