"""A key comes from the environment or the secrets file, and is never repeated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.keys.secret import KEY_NAMES, find_secret, known_keys, own_secret


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The secrets file of a folder of our own, in which we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".streamlit").mkdir()
    file = tmp_path / ".streamlit/secrets.toml"
    file.touch(mode=0o600)
    return file


def test_the_environment_goes_before_the_file(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_secret("ALPHA_API_KEY") is None
    secrets.write_text('ALPHA_API_KEY = "from-the-file"\n[other]\nALPHA_KEY = "inner"\n', encoding="utf-8")
    assert find_secret("ALPHA_API_KEY") == "from-the-file"
    monkeypatch.setenv("ALPHA_API_KEY", " \n")
    assert find_secret("ALPHA_API_KEY") == "from-the-file"
    monkeypatch.setenv("ALPHA_API_KEY", "from-outside\n")
    assert find_secret("ALPHA_API_KEY") == "from-outside"


@pytest.mark.parametrize("variable", ["CONDUCTOR_PASSWORD", "CONDUCTOR_WEBHOOK_SECRET"])
def test_a_secret_setting_comes_from_the_environment_alone(
    secrets: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    assert own_secret(variable) is None
    secrets.write_text(f'{variable} = "from-the-file"\n', encoding="utf-8")
    with pytest.raises(PoolError, match=f"{variable} is set in .* from which only keys are read") as caught:
        own_secret(variable)
    assert "from-the-file" not in str(caught.value)
    monkeypatch.setenv(variable, "from-outside")
    assert own_secret(variable) == "from-outside"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ALPHA_API_KEY = sk-without-quotes", "cannot be read: it must be TOML in UTF-8"),
        (b'ALPHA_API_KEY = "sk-\xff"', "cannot be read: it must be TOML in UTF-8"),
        (b"[[" * 5_000 + b"sk-", "cannot be read: it must be TOML in UTF-8"),
        (b'ALPHA_API_KEY = ["sk-in-a-list"]', 'write ALPHA_API_KEY as a text, ALPHA_API_KEY = "..."'),
        (b'ALPHA_API_KEY = "sk-\\nmore"', "ALPHA_API_KEY holds characters that no key has"),
        ('ALPHA_API_KEY = "sk-“quoted”"'.encode(), "ALPHA_API_KEY holds characters that no key has"),
    ],
)
def test_a_file_or_key_that_is_wrong_is_named_without_what_is_in_it(
    secrets: Path, content: bytes, message: str
) -> None:
    secrets.write_bytes(content)
    with pytest.raises(PoolError) as caught:
        find_secret("ALPHA_API_KEY")
    assert message in str(caught.value)
    assert "sk-" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secrets_file_that_is_a_folder_is_named(secrets: Path) -> None:
    secrets.unlink()
    secrets.mkdir()
    with pytest.raises(PoolError, match=r"secrets\.toml cannot be read"):
        find_secret("ALPHA_API_KEY")


@pytest.mark.parametrize("variable", ["ALPHA_API_KEY", "HF_TOKEN", "CONDUCTOR_KEY", "LISTED_TOKEN", "listed"])
def test_a_name_that_a_key_has_is_looked_up(
    secrets: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(KEY_NAMES, "LISTED_TOKEN, listed,")
    monkeypatch.setenv(variable, "sk-marked")
    assert find_secret(variable) == "sk-marked"


@pytest.mark.parametrize(
    "variable",
    [
        "PATH",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "OPENAI_API_KEY_2",
        "openai_api_key",
        "CONDUCTOR_DATABASE_URL",
        "CONDUCTOR_API_KEY",
        "conductor_fake_API_KEY",
        "",
    ],
)
def test_no_other_name_is_looked_up_for_any_caller(
    secrets: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    secrets.write_text(f'"{variable}" = "sk-marked"\n{KEY_NAMES} = "{variable}"', encoding="utf-8")
    monkeypatch.setenv(KEY_NAMES, "CONDUCTOR_DATABASE_URL,CONDUCTOR_API_KEY,conductor_fake_API_KEY")
    if variable:
        monkeypatch.setenv(variable, "sk-marked")
    with pytest.raises(PoolError) as caught:
        find_secret(variable)
    assert "sk-marked" not in str(caught.value)


def test_the_values_of_all_variables_that_may_hold_a_key_are_known(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("ALPHA_API_KEY", " sk-from-outside\n")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-ours")
    secrets.write_text(
        'BETA_API_KEY = "sk-from-the-file"\nport = 1\n[GAMMA_API_KEY]\nkey = "inner"\n', encoding="utf-8"
    )
    assert sorted(known_keys()) == ["sk-from-outside", "sk-from-the-file"]
    secrets.write_text("BETA_API_KEY = no text", encoding="utf-8")
    assert known_keys() == ("sk-from-outside",)
