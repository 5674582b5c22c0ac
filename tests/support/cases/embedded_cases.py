"""Embedded models in tests: a file that stands for weights, and a package that stands for llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.workers.embedded import embedded_worker as process

FAKE_LLAMA = Path(__file__).parents[1] / "endpoints" / "fake_llama"
"""The folder of the module that stands for xllamacpp."""


@pytest.fixture
def embedded_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that a process serves; the processes of the test end with it."""
    monkeypatch.syspath_prepend(FAKE_LLAMA)
    monkeypatch.setenv("PYTHONPATH", str(FAKE_LLAMA))
    monkeypatch.setattr(process, "_PROCESSES", {})
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF and weights")
    yield file
    for each in process._PROCESSES.values():
        each.end()
