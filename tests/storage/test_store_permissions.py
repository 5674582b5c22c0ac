"""What a store writes, and what was there before it, belongs to its user alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import pytest

from conductor.files.project_folder import STORE, own_store
from storage import SessionStore, default_url
from storage.database.database import Database


@pytest.fixture(autouse=True, params=[0o022, 0o000])
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """An empty folder, in a process that leaves what it writes readable for others."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


def use(url: str) -> dict[str, int]:
    """Write one session into the store; the modes in its folder meanwhile."""
    with SessionStore.open(url) as store:
        store.sessions.create("Why?")
        return modes(Path(url.removeprefix("sqlite:///")).parent)


@pytest.mark.parametrize("was_there", [False, True])
@pytest.mark.parametrize("place", [STORE, None])
def test_the_default_folder_and_all_files_of_a_store_are_its_users_alone(
    was_there: bool, place: Path | None
) -> None:
    place = place or own_store()
    folder, url = place.parent, f"sqlite:///{place}"
    if was_there:
        use(url)
        for each in (*folder.iterdir(), folder / "conductor.db.version-1.19700101T000000"):
            each.touch()
            each.chmod(0o666)
        folder.chmod(0o777)
    written = use(url)
    assert {"conductor.db", "conductor.db-wal", "conductor.db-shm"} <= written.keys()
    assert set(written.values()) == {0o600}
    assert modes(folder.parent)[folder.name] == 0o700


def test_a_store_in_another_folder_leaves_that_and_its_other_files_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o775)
    (tmp_path / "shared/store.db.txt").touch()
    (tmp_path / "shared/store.db.txt").chmod(0o644)
    written = use(f"sqlite:///{tmp_path}/shared/store.db")
    assert (written.pop("store.db.txt"), set(written.values())) == (0o644, {0o600})
    assert modes(tmp_path)["shared"] == 0o775


def test_a_copy_of_a_store_is_its_users_alone() -> None:
    use(default_url())
    with closing(Database(default_url())) as database:
        database.copy_to(Path("copy.db"))
    assert modes(Path())["copy.db"] == 0o600
