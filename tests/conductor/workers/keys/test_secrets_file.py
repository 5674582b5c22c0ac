"""A key is put beside the other secrets: whole or not at all, for its owner alone, and in no message."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.files.project_folder import POOL, own_pool_file
from conductor.workers.keys.secret import SECRETS_FILE, find_secret
from conductor.workers.keys.secrets_file import keep_key

KEY = "sk-marked-0123456789"
BEFORE = """\
# Ours.
CONDUCTOR_PASSWORD = "correct horse battery"  # do not change

[connections.store]
url = "postgresql://..."
"""


@pytest.fixture(autouse=True)
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file is, in a project of our own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / POOL).touch()
    monkeypatch.delenv("ALPHA_API_KEY", raising=False)
    return tmp_path / SECRETS_FILE


def test_keys_are_beside_the_pool_file_also_in_a_subfolder_and_outside_of_projects(
    secrets, tmp_path, monkeypatch
):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    keep_key("ALPHA_API_KEY", KEY)
    assert secrets.exists()
    (tmp_path / POOL).unlink()
    assert find_secret("ALPHA_API_KEY") is None
    keep_key("ALPHA_API_KEY", KEY)
    assert (own_pool_file().parent / SECRETS_FILE).exists()
    monkeypatch.chdir(tmp_path.parent)
    assert find_secret("ALPHA_API_KEY") == KEY


def test_the_first_key_makes_a_file_of_its_owner(secrets):
    keep_key("ALPHA_API_KEY", f" {KEY}\n")
    assert find_secret("ALPHA_API_KEY") == KEY
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    assert [file.name for file in secrets.parent.iterdir()] == ["secrets.toml"]


@pytest.mark.parametrize("before", [BEFORE, BEFORE.replace("\n", "\r\n"), BEFORE.rstrip(), ""])
def test_what_is_there_stays_and_a_second_key_takes_the_place_of_the_first(secrets, before):
    secrets.parent.mkdir()
    secrets.write_bytes(before.encode())
    secrets.chmod(0o600)
    keep_key("ALPHA_API_KEY", "sk-another-0123456789")
    keep_key("ALPHA_API_KEY", KEY)
    text = secrets.read_bytes().decode()
    assert tomllib.loads(text) == {**tomllib.loads(before), "ALPHA_API_KEY": KEY}
    assert text.endswith(before)
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600


@pytest.mark.parametrize("before", [BEFORE, ""])
def test_a_key_is_taken_out_again(secrets, before):
    secrets.parent.mkdir()
    secrets.write_text(before, encoding="utf-8")
    secrets.chmod(0o600)
    for key in (KEY, None, None):
        keep_key("ALPHA_API_KEY", key)
    assert secrets.read_text(encoding="utf-8") == before


def test_a_link_stays_one(secrets, tmp_path):
    secrets.parent.mkdir()
    secrets.symlink_to(tmp_path / "elsewhere.toml")
    keep_key("ALPHA_API_KEY", KEY)
    assert secrets.is_symlink()
    assert KEY in (tmp_path / "elsewhere.toml").read_text(encoding="utf-8")


def test_a_key_of_the_environment_goes_before_and_is_not_hidden(secrets, monkeypatch):
    monkeypatch.setenv("ALPHA_API_KEY", "sk-outside-0123456789")
    with pytest.raises(PoolError, match="ALPHA_API_KEY is set in the environment, which goes before"):
        keep_key("ALPHA_API_KEY", KEY)
    assert not secrets.exists()


@pytest.mark.parametrize(
    "text", ["", "  ", "short", "two words of a key", "sk-line\nbreak-0123", "x" * 1001, "sk-“”-012345"]
)
def test_what_is_no_key_is_not_written(secrets, text):
    with pytest.raises(PoolError, match="This is not a key") as caught:
        keep_key("ALPHA_API_KEY", text)
    assert not text.strip() or text not in str(caught.value)
    assert not secrets.exists()


def test_no_setting_of_the_program_is_written(secrets):
    with pytest.raises(PoolError, match="CONDUCTOR_PASSWORD is a setting of this program"):
        keep_key("CONDUCTOR_PASSWORD", KEY)
    assert not secrets.exists()


@pytest.mark.parametrize("content", [b"ALPHA = sk-no-quotes", b"\xff", b"[[" * 5_000])
def test_a_file_that_cannot_be_read_stays_as_it_is(secrets, content):
    secrets.parent.mkdir()
    secrets.write_bytes(content)
    secrets.chmod(0o600)
    with pytest.raises(PoolError, match=r"cannot be read: it must be TOML in UTF-8") as caught:
        keep_key("ALPHA_API_KEY", KEY)
    assert "sk-" not in str(caught.value)
    assert secrets.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_named(secrets):
    secrets.parent.write_text("no folder", encoding="utf-8")
    with pytest.raises(PoolError, match=r"secrets\.toml cannot be ") as caught:
        keep_key("ALPHA_API_KEY", KEY)
    assert KEY not in str(caught.value)
