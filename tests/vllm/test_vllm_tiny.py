"""Where the tiny model lies, and what is said when it cannot be built. `make test-vllm` builds a real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conductor.errors import ServeError
from conductor.vllm.tiny import tiny_model

STAND_IN = """
import sys
from pathlib import Path
for name in ("config.json", "tokenizer.json", "model.safetensors"):
    (Path(sys.argv[-1]) / name).write_text(name)
"""


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter that writes the files of a checkpoint whatever it is to run."""
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN, encoding="utf-8")
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    interpreter.chmod(0o755)
    return str(interpreter)


def test_without_a_folder_it_is_gone_afterwards(python: str) -> None:
    with tiny_model(python) as folder:
        assert (folder / "model.safetensors").exists()
    assert not folder.exists()


def test_a_named_folder_is_made_kept_and_used_again(python: str, tmp_path: Path) -> None:
    named = tmp_path / "models" / "tiny"
    with tiny_model(python, named) as folder:
        assert folder == named
    assert sorted(path.name for path in named.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert list(named.parent.iterdir()) == [named]
    with tiny_model("/nowhere/python", named) as again:
        assert again == named


def test_a_folder_of_something_else_is_not_touched(python: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")
    with (
        pytest.raises(ServeError, match="mine holds something that is no model"),
        tiny_model(python, tmp_path / "mine"),
    ):
        pass
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_without_torch_the_reason_is_given_and_nothing_is_left(tmp_path: Path) -> None:
    with (
        pytest.raises(ServeError, match="could not build the tiny model: ModuleNotFoundError"),
        tiny_model(sys.executable, tmp_path / "tiny"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(python: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ServeError, match="tiny cannot be written: "),
        tiny_model(python, tmp_path / "file" / "tiny"),
    ):
        pass
