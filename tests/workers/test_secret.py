"""A key comes from the environment or the secrets file, and is never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.secret import find_secret, masked


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The secrets file of a folder of our own, in which we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".streamlit").mkdir()
    return tmp_path / ".streamlit/secrets.toml"


def test_the_environment_goes_before_the_file(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_secret("ALPHA_KEY") is None
    secrets.write_text('ALPHA_KEY = "from-the-file"\n[other]\nALPHA_KEY = "inner"\n')
    assert find_secret("ALPHA_KEY") == "from-the-file"
    monkeypatch.setenv("ALPHA_KEY", " \n")
    assert find_secret("ALPHA_KEY") == "from-the-file"
    monkeypatch.setenv("ALPHA_KEY", "from-outside\n")
    assert find_secret("ALPHA_KEY") == "from-outside"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"ALPHA_KEY = sk-without-quotes", "cannot be read: it must be TOML in UTF-8"),
        (b'ALPHA_KEY = "sk-\xff"', "cannot be read: it must be TOML in UTF-8"),
        (b"[[" * 5_000 + b"sk-", "cannot be read: it must be TOML in UTF-8"),
        (b'ALPHA_KEY = ["sk-in-a-list"]', 'write ALPHA_KEY as a text, ALPHA_KEY = "..."'),
        (b'ALPHA_KEY = "sk-\\nmore"', "ALPHA_KEY holds characters that no key has"),
        ('ALPHA_KEY = "sk-“quoted”"'.encode(), "ALPHA_KEY holds characters that no key has"),
    ],
)
def test_a_file_or_key_that_is_wrong_is_named_without_what_is_in_it(
    secrets: Path, content: bytes, said: str
) -> None:
    secrets.write_bytes(content)
    with pytest.raises(PoolError) as caught:
        find_secret("ALPHA_KEY")
    assert said in str(caught.value)
    assert "sk-" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secrets_file_that_is_a_folder_is_named(secrets: Path) -> None:
    secrets.mkdir()
    with pytest.raises(PoolError, match=r"secrets\.toml cannot be read"):
        find_secret("ALPHA_KEY")


@pytest.mark.parametrize(
    ("key", "text"),
    [("sk-1234", "wrong key *** and ***"), (None, "wrong key sk-1234 and sk-1234"), ("sk", None)],
)
def test_a_repeated_key_is_masked(key: str | None, text: str | None) -> None:
    told = "wrong key sk-1234 and sk-1234"
    assert masked(told, key) == (text or told)
