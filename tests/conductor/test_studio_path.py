"""A checkout has the app's packages beside the library; a wheel has them in a folder of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conductor import studio_path


def test_in_a_checkout_the_path_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    studio_path.find_studio()
    assert studio_path.installed_studio() is None
    assert sys.path == before


def test_where_a_wheel_was_installed_its_folder_comes_first_and_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "conductor_studio"
    monkeypatch.setattr(studio_path, "installed_studio", lambda: folder)
    monkeypatch.setattr(sys, "path", ["/first"])
    for _ in range(2):
        studio_path.find_studio()
    assert sys.path == [str(folder), "/first"]


def test_the_folder_of_a_wheel_is_beside_the_library(tmp_path: Path) -> None:
    assert studio_path.installed_studio(tmp_path) == tmp_path / "conductor_studio"
    (tmp_path / "studio").mkdir()
    assert studio_path.installed_studio(tmp_path) is None
