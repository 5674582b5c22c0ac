"""The token of this machine: written once, readable by its owner only, whole from its first moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from conductor.errors import ServeError
from storage.api_token import read_token
from studio.access.machine_token import MachineToken

TOGETHER = 16


def test_it_is_written_once_for_its_owner_alone(tmp_path: Path) -> None:
    token = MachineToken.below(tmp_path / "data")
    assert token.read() is None
    token.create()
    text = token.read()
    assert text is not None
    assert read_token(text) is not None
    assert token.path.stat().st_mode & 0o777 == 0o600
    MachineToken.below(tmp_path / "data").create()
    assert token.read() == text
    assert [path.name for path in token.path.parent.iterdir()] == ["api-token"]


def test_of_many_servers_that_start_at_once_all_have_the_same(tmp_path: Path) -> None:
    barrier = Barrier(TOGETHER)

    def started(_: int) -> str | None:
        token = MachineToken.below(tmp_path)
        barrier.wait(60)
        token.create()
        return token.read()

    with ThreadPoolExecutor(TOGETHER) as servers:
        tokens = set(servers.map(started, range(TOGETHER)))
    assert len(tokens) == 1
    assert None not in tokens
    assert [path.name for path in tmp_path.iterdir()] == ["api-token"]


def test_deleting_the_file_revokes_it_and_the_next_start_writes_another(tmp_path: Path) -> None:
    token = MachineToken.below(tmp_path)
    token.create()
    first = token.read()
    token.path.unlink()
    assert token.read() is None
    token.create()
    assert token.read() not in (None, first)


@pytest.mark.parametrize("content", [b"", b"secret", "conductor_é".encode()])
def test_what_is_no_token_is_not_read_as_one(tmp_path: Path, content: bytes) -> None:
    token = MachineToken.below(tmp_path)
    token.path.write_bytes(content)
    assert token.read() is None


def test_a_token_that_others_can_read_as_of_a_cloned_folder_admits_no_one(tmp_path: Path) -> None:
    token = MachineToken.below(tmp_path)
    token.create()
    text = token.read()
    token.path.chmod(0o644)
    assert token.read() is None
    with pytest.raises(ServeError, match=r"api-token is not yours alone \(mode 600\)"):
        token.create()
    token.path.chmod(0o600)
    assert token.read() == text


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(ServeError, match=r"cannot be written to .*/data/api-token"):
        MachineToken.below(tmp_path / "data").create()
